import { expect, it } from 'vitest';
import { pathOf } from '#query/answers/path.ts';

it.each([
  ['/api/order/list?search=a', '/api/order/list'],
  ['/api/order/list#a?b', '/api/order/list'],
  ['http://host:80/api/order/list?x', '/api/order/list'],
  ['/api/%6frder/list', '/api/order/list'],
  ['/api/%zz', '/api/%zz'],
  ['*', '*'],
  [undefined, ''],
])('the path of %s is %s', (target, path) => expect(pathOf(target)).toBe(path));
