/** Whether work succeeds, for `eventually`: a server may be away meanwhile. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
