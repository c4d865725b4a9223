import { MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { parserRefusal, classify, pathOf } from '#query/responses/send.ts';
import { insufficientScope, Refused } from '#query/responses/refusal.ts';
import { StoreDataError } from '#shared/errors.ts';

describe('classify', () => {
  it.each([
    [new MongoNetworkError('connection 1 to 127.0.0.1 closed'), 503],
    [new MongoServerError({ message: 'interrupted', code: 11_602 }), 503],
    [new Error('Command timed out'), 503],
    [new Error('EXECABORT Transaction discarded because of previous errors.'), 503],
    [new Error('ERR Error running script (call to f_a1): @user_script: 1: -OOM command'), 503],
    [new Error('ERR Error running script (call to f_a1): attempt to index a nil value'), 500],
    [new Error('Unknown RESP type 72 "H". Please report this.'), 503],
    [new Error("Stream isn't writeable and enableOfflineQueue options is false"), 503],
    [new StoreDataError('environment_unavailable', 'no generation'), 503],
    [new MongoServerError({ message: 'bad $sort', code: 9 }), 500],
    [new TypeError('x is not a function'), 500],
    [undefined, 500],
    [Object.assign(new Error('Body is too large'), { statusCode: 413 }), 413],
    [Object.assign(new Error('x'), { statusCode: 400 }), 400],
    [Object.assign(new Error('x'), { statusCode: 302 }), 500],
  ])('%s is a %d', (error, status) => {
    const refusal = classify(error);
    expect(refusal.status).toBe(status);
    // The text of a foreign error must not reach a client.
    if (error instanceof Error) expect(refusal.detail).not.toContain(error.message);
  });

  it('keeps refusals of the product', () => {
    const refusal = insufficientScope(['crm', 'order'], ['order']);
    expect(classify(new Refused(refusal))).toBe(refusal);
  });
});

it.each([
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  [undefined, 400],
])('the parser’s %s is a %d', (code, status) => {
  expect(parserRefusal(code)).toMatchObject({ status, code: 'invalid_request' });
});

it.each([
  ['/api/order/list#a?b', '/api/order/list'],
  ['http://host:80/api/order/list?x', '/api/order/list'],
  ['/api/%6frder/list', '/api/order/list'],
  ['/api/%zz', '/api/%zz'],
  ['*', '*'],
  [undefined, ''],
])('the path of %s is %s', (target, path) => expect(pathOf(target)).toBe(path));
