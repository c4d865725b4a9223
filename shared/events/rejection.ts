/** Why a message is poison: the reasons, and the error that carries one. */

/** The closed list of reasons, with what each means. */
export const REJECTION_MEANINGS = {
  too_large: 'the message has more than 1 MiB or more than 10,000 headers',
  malformed: 'not UTF-8, not JSON, or JSON that is not an object',
  not_a_cloud_event: 'neither structured nor binary mode of CloudEvents 1.0',
  invalid_attribute: 'an attribute of the event is missing or has the wrong shape',
  unknown_type: 'the type is not one of ours',
  key_mismatch: 'the message key is not the store’s id',
  unknown_schema_version:
    'dataschema names no version, or a newer one that cannot be read as the newest known',
  invalid_data: 'the data is not what the entity requires',
  bound_elsewhere: 'the access key is bound to another store or environment',
  unreadable: 'its record batch cannot be read',
  projection_failed: 'no document could be made of it, or its transaction failed again and again',
} as const;

export type RejectionReason = keyof typeof REJECTION_MEANINGS;

export const REJECTION_REASONS = Object.keys(REJECTION_MEANINGS) as RejectionReason[];

/** Thrown for a message that is no event (rule R13.2). `detail` never quotes values. */
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
