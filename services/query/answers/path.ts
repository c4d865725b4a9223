/** The path of a request target, without query, as the router understands it. */

/** Decoded; as it is where it cannot be decoded. */
export function pathOf(target: string | undefined): string {
  // A proxy may send the absolute form (RFC 9112 section 3.2.2).
  const path = (target ?? '').replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
