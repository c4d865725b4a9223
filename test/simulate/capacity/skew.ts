/** How orders are spread over stores. */

/**
 * Orders a day of each store, the largest first: by Zipf's law, and none above `largest`.
 * @throws RangeError when the stores cannot have so many.
 */
export function ordersOfStores({
  stores,
  ordersADay,
  skew,
  largest,
}: {
  stores: number;
  ordersADay: number;
  skew: number;
  largest: number;
}): number[] {
  if (ordersADay > stores * largest) {
    throw new RangeError(`${stores} stores with ${largest} orders a day at most cannot have ${ordersADay}`);
  }
  const weights = Array.from({ length: stores }, (_, index) => (index + 1) ** -skew);
  // What is cut off from the largest, all others have more.
  let left = ordersADay;
  let rest = weights.reduce((sum, weight) => sum + weight, 0);
  const isCut = (weight: number) => (weight * left) / rest > largest;
  const cut = weights.findIndex((weight) => {
    if (!isCut(weight)) return true;
    left -= largest;
    rest -= weight;
    return false;
  });
  return weights.map((weight, index) => (cut === -1 || index < cut ? largest : (weight * left) / rest));
}
