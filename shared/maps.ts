/** The value of a key. It is made if there is none. */
export function getOrInsert<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
