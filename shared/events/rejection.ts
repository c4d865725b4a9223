/** Why a message is poison: the closed list of reasons, and the error that carries one. */

export const REJECTION_REASONS = [
  /** More than 1 MiB. */
  'too_large',
  /** Not UTF-8, not JSON, or JSON that is not an object. */
  'malformed',
  /** Neither structured nor binary mode of CloudEvents 1.0. */
  'not_a_cloud_event',
  /** A context attribute is missing or has the wrong shape. */
  'invalid_attribute',
  /** `type` is not one of ours. */
  'unknown_type',
  /** The message key is not the store's id. */
  'key_mismatch',
  /** `dataschema` names no version, or a newer one that cannot be read as the newest known. */
  'unknown_schema_version',
  /** `data` is not what the entity requires. */
  'invalid_data',
  /** An access key that is bound to another store or environment. */
  'bound_elsewhere',
  /** The projection could not make a document of it. */
  'projection_failed',
] as const;

export type RejectionReason = (typeof REJECTION_REASONS)[number];

/** Thrown for a message that is no event (CONTRACT section 3, "poison"). `detail` never quotes values. */
export class EventRejected extends Error {
  override readonly name = 'EventRejected';
  readonly reason: RejectionReason;
  readonly detail: string;

  constructor(reason: RejectionReason, detail: string, options?: { cause?: unknown }) {
    super(`${reason}: ${detail}`, options);
    this.reason = reason;
    this.detail = detail;
  }
}
