/**
 * ES256 signatures as tokens carry them: two numbers r and s of 32 bytes. With (r, s) also (r, n−s) verifies, n being the order of
 * the curve: so that a token has one spelling, only the lower s of the two is made and taken.
 */

const NUMBER_BYTES = 32;

/** The order of P-256, and half of it: the highest s that is taken. */
const ORDER = 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n;
const HALF_ORDER = Buffer.from((ORDER / 2n).toString(16), 'hex');

/** The signature (RFC 7518 section 3.4) from the DER that Node makes quickest. */
export function joseSignature(der: Buffer): Buffer {
  const signature = Buffer.alloc(2 * NUMBER_BYTES);
  // SEQUENCE, its length, then twice: INTEGER, its length, the bytes, with a zero before a high bit and none to fill up.
  let at = 2;
  for (const end of [NUMBER_BYTES, 2 * NUMBER_BYTES]) {
    const length = der[at + 1] ?? 0;
    const start = at + 2;
    at = start + length;
    const first = Math.max(start, at - NUMBER_BYTES);
    der.copy(signature, end - (at - first), first, at);
  }
  if (!hasLowerS(signature)) {
    const s = BigInt(`0x${signature.toString('hex', NUMBER_BYTES)}`);
    signature.write((ORDER - s).toString(16).padStart(2 * NUMBER_BYTES, '0'), NUMBER_BYTES, 'hex');
  }
  return signature;
}

/** Whether a signature is the one of the two that is taken. */
export function hasLowerS(signature: Buffer): boolean {
  return signature.subarray(NUMBER_BYTES).compare(HALF_ORDER) <= 0;
}
