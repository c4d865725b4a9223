/** No store sees data of another store or another environment, at any endpoint, with any id. */
import { beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import type { ListBody } from '#test/api-client.ts';
import { type DataRoute, dataRoutes, targetOf } from './data-routes.ts';
import { expectHarmless } from './harmless.ts';
import { idOf, recordsOf, type Tenant } from './tenants.ts';

const service = useQueryService({ environments: 2 });
let tenants: (Tenant & { token: string })[] = [];
let routes: DataRoute[];

beforeAll(async () => {
  routes = dataRoutes(service.app);
  const [first = '', second = ''] = service.installation.config.environments;
  const places = [
    { name: 'Anna', storeId: 's1', environment: first },
    { name: 'Bruno', storeId: 's2', environment: first },
    { name: 'Carla', storeId: 's1', environment: second },
    { name: 'Diego', storeId: 's2', environment: second },
  ];
  for (const [index, place] of places.entries()) {
    const { name, storeId, environment } = place;
    await service.setKey({ clientId: `key${name}`, storeId, environment });
    const tenant = { ...place, secret: `secret${name}`, phone: `1190000000${index}` };
    await service.apply(recordsOf(tenant), environment);
    tenants.push({ ...tenant, token: await service.api.token(`key${name}`, 'secret') });
  }
});

const others = (tenant: Tenant) => tenants.filter(({ name }) => name !== tenant.name);
/** The kind of record of an id parameter. */
const entityOf = (parameter: string) => parameter.replace(/_id$/, '');

describe('every data endpoint', () => {
  it('shows each tenant only its own records', async () => {
    for (const tenant of tenants) {
      for (const route of routes) {
        const [required = ''] = route.required;
        const target = targetOf(route, idOf(entityOf(required), tenant));
        const answer = await service.api.get(target, tenant.token);
        const about = `${target} for ${tenant.name}`;
        expect(answer.status, about).toBe(200);
        expect(answer.text).toContain(tenant.secret);
        const foreign = others(tenant).flatMap(({ secret, phone, name }) => [
          secret,
          phone,
          `-${name}"`,
        ]);
        expectHarmless(answer, about, foreign);
        if ('count' in (answer.json as object)) expect((answer.json as ListBody).count).toBe(1);
      }
    }
  });

  it('answers an id of another tenant like one that does not exist', async () => {
    const detailed = routes.filter(({ required }) => required.length > 0);
    expect(detailed.length).toBeGreaterThan(0);
    for (const route of detailed) {
      const [parameter = ''] = route.required;
      // Every kind of id must have a record, even a new kind.
      expect(Object.keys(COLLECTIONS)).toContain(entityOf(parameter));
      for (const tenant of tenants) {
        const nobodys = await service.api.get(targetOf(route, 'nobodys'), tenant.token);
        expect(nobodys.status).toBe(404);
        for (const other of others(tenant)) {
          const target = targetOf(route, idOf(entityOf(parameter), other));
          const answer = await service.api.get(target, tenant.token);
          expect([target, answer.status, answer.text]).toEqual([target, 404, nobodys.text]);
        }
      }
    }
  });

  it('finds nothing by a filter with another tenant’s id', async () => {
    let tried = 0;
    for (const route of routes) {
      const filters = route.parameters.filter(
        (name) => name.endsWith('_id') && !route.required.includes(name),
      );
      for (const filter of filters) {
        for (const tenant of tenants) {
          for (const other of others(tenant)) {
            const target = `${route.path}?${filter}=${idOf(entityOf(filter), other)}`;
            expect((await service.api.list(target, tenant.token)).count, target).toBe(0);
            tried += 1;
          }
        }
      }
    }
    expect(tried).toBeGreaterThan(0);
  });

  it('finds nothing by a search for another tenant’s customer', async () => {
    for (const tenant of tenants) {
      for (const owner of tenants) {
        for (const text of [owner.secret, owner.phone]) {
          const { count } = await service.api.list(
            `/api/customer/list?search=${text}`,
            tenant.token,
          );
          expect([tenant.name, text, count]).toEqual([tenant.name, text, owner === tenant ? 1 : 0]);
        }
      }
    }
  });

  it('does not match another tenant’s entity tag', async () => {
    for (const route of routes.filter(
      ({ required, parameters }) => required.length === 0 && !parameters.includes('after'),
    )) {
      for (const tenant of tenants) {
        const etag = (await service.api.get(route.path, tenant.token)).headers.get('etag') ?? '';
        for (const other of tenants) {
          const answer = await service.api.get(route.path, other.token, { 'if-none-match': etag });
          expect(answer.status, route.path).toEqual(other === tenant ? 304 : 200);
        }
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
      const target = targetOf(route, idOf(entityOf(route.required[0] ?? ''), own));
      const answer = await service.api.get(target, own.token);
      expect(answer.status, target).toBe(200);
      expectHarmless(answer, target, [foreign.secret, foreign.phone]);
    }
    const product = await service.api.get(
      `/api/product/details/?product_id=${idOf('product', own)}`,
      own.token,
    );
    expect(product.json).toMatchObject({
      option_groups: [],
      category_id: idOf('category', foreign),
    });
    const menu = await service.api.get('/api/menu/', own.token);
    expect(menu.json).toMatchObject({ categories: [] });
    const category = await service.api.get(
      `/api/category/details/?category_id=${idOf('category', foreign)}`,
      foreign.token,
    );
    expect(category.json).toMatchObject({ product_count: 1 });
  });
});
