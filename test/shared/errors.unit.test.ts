import kafkajs from 'kafkajs';
import { MongoBulkWriteError, MongoError, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { words } from '#test/words.ts';
import {
  asFailure,
  canBeFaultOfMessage,
  describeError,
  framesOf,
  isUnavailable,
  refusalOf,
  StoreDataError,
} from '#shared/errors.ts';

const mongodb = (code: number, message = 'refused', ...errorLabels: string[]) =>
  new MongoServerError({ code, message, errorLabels });

it.each<[what: string, errors: Error[], isTransient: boolean, isFault: boolean]>([
  [
    'a lost connection is transient',
    [new MongoNetworkError('closed'), new kafkajs.KafkaJSConnectionError('gone')],
    true,
    false,
  ],
  [
    'a state of MongoDB that this release does not know is transient',
    [6, 112, 9_999, 11_602].map((code) => mongodb(code)),
    true,
    false,
  ],
  [
    'what MongoDB labels as transient is, whatever its code',
    words('SystemOverloadedError RetryableError TransientTransactionError RetryableWriteError').map(
      (label) => mongodb(11_000, 'not now', label),
    ),
    true,
    false,
  ],
  [
    'a Redis that is full, or another node that holds a key of Redis, is transient',
    [
      'OOM command not allowed',
      'MOVED 3999 127.0.0.1:6381',
      'ASK 3999 127.0.0.1:6381',
      'CLUSTERDOWN Hash slot not served',
      'ERR Error running script (call to f_1): @user_script:7: Lua script attempted to access a non local key in a cluster node',
    ].map((message) => new Error(message)),
    true,
    false,
  ],
  [
    'a mistake in a command is neither transient nor the fault of a message',
    [2, 9, 40_324].map((code) => mongodb(code)),
    false,
    false,
  ],
  [
    'a refusal is neither transient nor the fault of a message',
    [
      mongodb(13),
      new Error('NOPERM this user has no permissions'),
      new StoreDataError('fenced', 'another owner'),
    ],
    false,
    false,
  ],
  [
    'an error of MongoDB that names the data can be the fault of a message',
    [121, 257, 10_334, 11_000, 17_419].map((code) => mongodb(code)),
    false,
    true,
  ],
  [
    'an error of our own code can be the fault of a message',
    [new RangeError('Invalid time value')],
    false,
    true,
  ],
])('%s', (_what, errors, isTransient, isFault) => {
  const inBulk = (error: Error) =>
    error instanceof MongoError ? [new MongoBulkWriteError(error, {} as never)] : [];
  for (const error of errors.flatMap((one) => [one, ...inBulk(one)])) {
    const told = [isUnavailable(error), canBeFaultOfMessage(error)];
    expect(told, error.message).toEqual([isTransient, isFault]);
  }
});

describe('a refusal by a server', () => {
  const { KafkaJSDeleteGroupsError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } =
    kafkajs;
  const ofKafka = (type: string) =>
    new KafkaJSProtocolError(
      Object.assign(new Error('refused'), { type, code: 1, retriable: false }),
    );

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
  const quoting = [
    'not authorized on shop to execute command { find: "customers", filter: { name: "Zulmira" } }',
    'E11000 duplicate key error collection: shop.customers index: name_1 dup key: { name: "Zulmira" }',
    'transaction took too long',
  ].map((message) => new MongoServerError({ message }));
  const parsers: unknown[] = [];
  for (const parse of [JSON.parse, RegExp]) {
    try {
      parse('Zulmira(');
    } catch (error) {
      parsers.push(error);
    }
  }
  expect([...quoting, ...parsers].map(describeError)).toEqual([
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
