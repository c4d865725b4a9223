import kafkajs from 'kafkajs';
import { MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import {
  asFailure,
  canBeFaultOfMessage,
  describeError,
  framesOf,
  isUnavailable,
  refusalOf,
  StoreDataError,
} from '#shared/errors.ts';

/** The driver's error of a bulk write that another error ended. */
function duringBulkWrite(error: Error): MongoBulkWriteError {
  return new MongoBulkWriteError(error, {} as never);
}

describe('a transient error', () => {
  it('is a lost connection, even during a bulk write', () => {
    const lost = new MongoNetworkError('connection 3 to 127.0.0.1:27017 closed');
    expect(isUnavailable(lost)).toBe(true);
    expect(isUnavailable(duringBulkWrite(lost))).toBe(true);
  });

  it('is a conflict of transactions', () => {
    const labelled = {
      message: 'WriteConflict',
      code: 112,
      errorLabels: ['TransientTransactionError'],
    };
    expect(isUnavailable(new MongoServerError(labelled))).toBe(true);
    expect(isUnavailable(duringBulkWrite(new MongoServerError(labelled)))).toBe(true);
  });

  it.each([
    'MOVED 3999 127.0.0.1:6381',
    'ASK 3999 127.0.0.1:6381',
    'CLUSTERDOWN Hash slot not served',
    'ERR Error running script (call to f_1): @user_script:7: Lua script attempted to access a non local key in a cluster node',
  ])('is a key of Redis that another node holds: %s', (message) => {
    expect(isUnavailable(new Error(message))).toBe(true);
  });

  it('is not a refusal of the command itself', () => {
    const refused = new MongoServerError({ message: 'document is too large', code: 10334 });
    expect(isUnavailable(refused)).toBe(false);
    expect(isUnavailable(duringBulkWrite(refused))).toBe(false);
    expect(isUnavailable(new TypeError('x is undefined'))).toBe(false);
  });

  it.each([6, 43, 64, 112, 189, 202, 406, 407, 412, 433, 449, 462, 9999, 11602])(
    'is a state of MongoDB that this release does not know as an error of data or commands: code %i',
    (code) => {
      const error = new MongoServerError({ message: 'not now', code });
      expect([isUnavailable(error), canBeFaultOfMessage(error)]).toEqual([true, false]);
    },
  );

  it.each([
    'SystemOverloadedError',
    'RetryableError',
    'TransientTransactionError',
    'RetryableWriteError',
  ])('is what MongoDB labels %s, whatever its code', (label) => {
    const error = new MongoServerError({ message: 'not now', code: 11000, errorLabels: [label] });
    expect([isUnavailable(error), canBeFaultOfMessage(error)]).toEqual([true, false]);
    expect(canBeFaultOfMessage(duringBulkWrite(error))).toBe(false);
  });

  it.each([2, 9, 40324])(
    'is not a mistake in the command, which is no fault of a message either: code %i',
    (code) => {
      const error = new MongoServerError({ message: 'unrecognized', code });
      expect([isUnavailable(error), canBeFaultOfMessage(error)]).toEqual([false, false]);
    },
  );
});

describe('the fault of a message', () => {
  it.each([121, 257, 10334, 11000, 17419])(
    'is an error of MongoDB that names the data: code %i',
    (code) => {
      const error = new MongoServerError({ message: 'refused', code });
      expect([canBeFaultOfMessage(error), canBeFaultOfMessage(duringBulkWrite(error))]).toEqual([
        true,
        true,
      ]);
      expect(isUnavailable(error)).toBe(false);
    },
  );

  it('is an error of our own code', () => {
    expect(canBeFaultOfMessage(new RangeError('Invalid time value'))).toBe(true);
  });

  it.each([
    new MongoServerError({ message: 'not authorized', code: 13 }),
    new MongoNetworkError('closed'),
    new StoreDataError('fenced', 'another owner'),
    new Error('NOPERM this user has no permissions'),
    new Error('OOM command not allowed'),
    new kafkajs.KafkaJSConnectionError('gone'),
  ])('is not what a server refuses or cannot do now: $message', (error) => {
    expect(canBeFaultOfMessage(error)).toBe(false);
  });
});

describe('a refusal by a server', () => {
  const { KafkaJSDeleteGroupsError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } =
    kafkajs;
  const ofKafka = (type: string) =>
    new KafkaJSProtocolError(
      Object.assign(new Error('refused'), { type, code: 1, retriable: false }),
    );
  const mongodb = (code: number, message: string) => new MongoServerError({ code, message });

  it.each([
    [
      mongodb(13, 'not authorized on x to execute command { find: "y" }'),
      /^not authorized by MongoDB: .* on x .*role/,
    ],
    [mongodb(18, 'Authentication failed.'), /^not authorized by MongoDB: .*password is wrong/],
    [ofKafka('TOPIC_AUTHORIZATION_FAILED'), /^not authorized by Kafka: .*topic/],
    [ofKafka('GROUP_AUTHORIZATION_FAILED'), /^not authorized by Kafka: .*consumer group/],
    [
      new KafkaJSNumberOfRetriesExceeded(ofKafka('CLUSTER_AUTHORIZATION_FAILED'), {
        retryCount: 1,
        retryTime: 1,
      }),
      /^not authorized by Kafka: .*cluster/,
    ],
    [
      new KafkaJSDeleteGroupsError('failed', [
        { groupId: 'g', errorCode: 30, error: ofKafka('GROUP_AUTHORIZATION_FAILED') },
      ]),
      /^not authorized by Kafka: .*consumer group/,
    ],
    [
      new Error("NOPERM this user has no permissions to run the 'keys' command"),
      /^not authorized by Redis: /,
    ],
    [
      new Error('WRONGPASS invalid username-password pair'),
      /^not authorized by Redis: .*password is wrong/,
    ],
  ])('is recognised: %s', (error, told) => {
    expect(refusalOf(error)).toMatch(told);
    expect(asFailure(new Error('wrapped', { cause: error }))).toMatchObject({
      code: 'not_authorized',
    });
  });

  it('is not any other error', () => {
    expect(refusalOf(mongodb(10334, 'too large'))).toBeNull();
    expect(refusalOf(new Error('LOADING Redis is loading'))).toBeNull();
    expect(asFailure(new Error('gone')).code).toBe('environment_unavailable');
  });
});

it('a described error contains no credentials of a server', () => {
  const address = 'redis://:abc@tail@host:6379/0?password=other';
  const cause = new Error(`no answer from ${address}`);
  const told = [
    describeError(new TypeError(`Invalid URL ${address}`, { cause })),
    new StoreDataError('environment_unavailable', `${address} is away`).message,
  ];
  expect(told).toEqual([
    'TypeError: Invalid URL redis://host:6379/0 (Error: no answer from redis://host:6379/0)',
    'redis://host:6379/0 is away',
  ]);
});

it('a described error contains no data that MongoDB or a parser quotes', () => {
  const mongodb = [
    'not authorized on shop to execute command { find: "customers", filter: { name: "Zulmira" } }',
    'E11000 duplicate key error collection: shop.customers index: name_1 dup key: { name: "Zulmira" }',
    'transaction took too long',
  ].map((message) => new MongoServerError({ message }));
  const thrown = (act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      return error;
    }
  };
  const parsers = [
    thrown(() => JSON.parse('Zulmira')),
    thrown(() => new RegExp(['Zulmira', '('].join(''))),
  ];
  expect([...mongodb, ...parsers].map(describeError)).toEqual([
    'MongoServerError: not authorized on shop to execute command …',
    'MongoServerError: E11000 duplicate key error collection: shop.customers index: name_1 dup key: …',
    'MongoServerError: transaction took too long',
    'SyntaxError: Unexpected token …',
    'SyntaxError: Invalid regular expression: …',
  ]);
  const frames = parsers.map(framesOf);
  for (const text of frames) {
    expect(text).toContain('errors.unit.test.ts');
    expect(text).not.toContain('Zulmira');
  }
});
