/** Things that are due at some time, in slots of a tenth of a second: cheap to add to, whatever the number. */

const SLOT_MS = 100;

export class Timetable<T> {
  readonly #slots = new Map<number, T[]>();
  /** The first slot that has not been taken. */
  #next = Number.NEGATIVE_INFINITY;

  /** Notes something for a time; what is due in the past comes with the next taking. */
  add(time: number, item: T): void {
    const slot = Math.max(Math.ceil(time / SLOT_MS), this.#next);
    const items = this.#slots.get(slot);
    if (items === undefined) this.#slots.set(slot, [item]);
    else items.push(item);
  }

  /** Takes out everything that is due at `time`, earliest first. */
  takeUntil(time: number): T[] {
    const last = Math.floor(time / SLOT_MS);
    const due = [...this.#slots.keys()].filter((slot) => slot <= last).toSorted((a, b) => a - b);
    const items = due.flatMap((slot) => this.#slots.get(slot) ?? []);
    for (const slot of due) this.#slots.delete(slot);
    this.#next = last + 1;
    return items;
  }
}
