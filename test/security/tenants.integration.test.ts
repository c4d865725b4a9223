/** No store sees data of another store or another environment, at any endpoint, with any id. */
import { beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import type { ListBody } from '#test/api-client.ts';
import { type DataRoute, dataRoutes, targetOf } from './data-routes.ts';
import { expectHarmless } from './harmless.ts';
import { idOf, recordsOf, type Tenant } from './tenants.ts';

const service = useQueryService({ environments: 2 });
const tenants: (Tenant & { token: string })[] = [];
let routes: DataRoute[];

beforeAll(async () => {
  routes = dataRoutes(service.app);
  const [first = '', second = ''] = service.installation.config.environments;
  for (const [name, storeId, environment] of [
    ['Anna', 's1', first],
    ['Bruno', 's2', first],
    ['Carla', 's1', second],
  ] as const) {
    const phone = `1190000000${tenants.length}`;
    const tenant = { name, storeId, environment, secret: `secret${name}`, phone };
    await service.apply(recordsOf(tenant), environment);
    const token = await service.tokenOf({ clientId: `key${name}`, storeId, environment });
    tenants.push({ ...tenant, token });
  }
});

/** Every tenant with every other one. */
const pairs = () =>
  tenants.flatMap((tenant) =>
    tenants.filter((other) => other !== tenant).map((other) => ({ tenant, other })),
  );
/** The kind of record of an id parameter. */
const entityOf = (parameter: string) => parameter.replace(/_id$/, '');
/** The target of a request for a record of a tenant, or for a list. */
const targetAt = (route: DataRoute, tenant: Tenant) =>
  targetOf(route, idOf(entityOf(route.required[0] ?? ''), tenant));

describe('every data endpoint', () => {
  it('shows each tenant only its own records', async () => {
    for (const route of routes) {
      for (const { tenant, other } of pairs()) {
        const target = targetAt(route, tenant);
        const answer = await service.api.get(target, tenant.token);
        const about = `${target} for ${tenant.name}`;
        expect(answer.status, about).toBe(200);
        expect(answer.text).toContain(tenant.secret);
        expectHarmless(answer, about, [other.secret, other.phone, `-${other.name}"`]);
        if ('count' in (answer.json as object)) expect((answer.json as ListBody).count).toBe(1);
      }
    }
  });

  it('answers an id of another tenant like one that does not exist', async () => {
    const detailed = routes.filter(({ required }) => required.length > 0);
    expect(detailed.length).toBeGreaterThan(0);
    for (const route of detailed) {
      // Every kind of id must have a record, even a new kind.
      expect(Object.keys(COLLECTIONS)).toContain(entityOf(route.required[0] ?? ''));
      for (const { tenant, other } of pairs()) {
        const nobodys = await service.api.get(targetOf(route, 'nobodys'), tenant.token);
        expect(nobodys.status).toBe(404);
        const target = targetAt(route, other);
        const answer = await service.api.get(target, tenant.token);
        expect([target, answer.status, answer.text]).toEqual([target, 404, nobodys.text]);
      }
    }
  });

  it('finds nothing by a filter with another tenant’s id, or by a search for its customer', async () => {
    const filters = routes.flatMap(({ path, parameters, required }) =>
      parameters
        .filter((name) => name.endsWith('_id') && !required.includes(name))
        .map((name) => ({ path, name })),
    );
    expect(filters.length).toBeGreaterThan(0);
    for (const { tenant, other } of pairs()) {
      const targets = filters.map(
        ({ path, name }) => `${path}?${name}=${idOf(entityOf(name), other)}`,
      );
      const searches = ({ secret, phone }: Tenant) =>
        [secret, phone].map((text) => `/api/customer/list?search=${text}`);
      for (const target of [...targets, ...searches(other)])
        expect((await service.api.list(target, tenant.token)).count, target).toBe(0);
      for (const target of searches(tenant))
        expect((await service.api.list(target, tenant.token)).count, target).toBe(1);
    }
  });

  it('does not match another tenant’s entity tag', async () => {
    const tagged = routes.filter(
      ({ required, parameters }) => required.length === 0 && !parameters.includes('after'),
    );
    for (const { path } of tagged) {
      for (const { tenant, other } of pairs()) {
        const etag = (await service.api.get(path, tenant.token)).headers.get('etag') ?? '';
        const given = { 'if-none-match': etag };
        expect((await service.api.get(path, tenant.token, given)).status, path).toBe(304);
        expect((await service.api.get(path, other.token, given)).status, path).toBe(200);
      }
    }
  });
});

describe('a record that names another tenant’s records', () => {
  it('shows nothing of those records', async () => {
    const [own, foreign] = tenants;
    if (own === undefined || foreign === undefined) throw new Error('there are no tenants');
    await service.apply(recordsOf(own, foreign), own.environment);
    for (const route of routes) {
      const target = targetAt(route, own);
      const answer = await service.api.get(target, own.token);
      expect(answer.status, target).toBe(200);
      expectHarmless(answer, target, [foreign.secret, foreign.phone]);
    }
    const get = async (target: string, { token } = own) =>
      (await service.api.get(target, token)).json;
    const category_id = idOf('category', foreign);
    const product = `/api/product/details/?product_id=${idOf('product', own)}`;
    expect(await get(product)).toMatchObject({ option_groups: [], category_id });
    expect(await get('/api/menu/')).toMatchObject({ categories: [] });
    const category = `/api/category/details/?category_id=${category_id}`;
    expect(await get(category, foreign)).toMatchObject({ product_count: 1 });
  });
});
