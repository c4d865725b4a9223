// Where programs can be fetched for, and where they are kept.
import { homedir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { cacheFolder, requirePlatform } from '#local/stack/fetch/package.ts';

test('another platform is told what to do instead', () => {
  expect(() => requirePlatform('linux', 'x64')).not.toThrow();
  expect(() => requirePlatform('darwin', 'arm64')).toThrow(/darwin on arm64.*Docker.*KAFKA_BROKERS/);
  expect(() => requirePlatform('linux', 'arm64')).toThrow(/linux on arm64/);
});

describe('the cache is', () => {
  test('where STORE_DATA_CACHE says', () => {
    expect(cacheFolder({ STORE_DATA_CACHE: '/own', XDG_CACHE_HOME: '/xdg' })).toBe('/own');
  });

  test('else with the other caches of the user', () => {
    expect(cacheFolder({ STORE_DATA_CACHE: '', XDG_CACHE_HOME: '/xdg' })).toBe('/xdg/store-data');
    expect(cacheFolder({})).toBe(`${homedir()}/.cache/store-data`);
  });
});
