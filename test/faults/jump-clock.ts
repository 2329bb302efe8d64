import type { Cancel, Clock } from "../../src/runtime/clock.ts";

interface Wake {
  readonly due: number;
  readonly wake: () => void;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Real time plus an offset that a test moves forward: what waits 60 s wakes after a few jumps. A
 * clock of its own for each controller, so that one can stand still while the others go on.
 */
export class JumpClock implements Clock {
  readonly #wakes = new Set<Wake>();
  #offset: number;
  /** The monotonic instant at which the clock stands still. */
  #stoodAt: number | undefined;

  /** Begins `offset` milliseconds ahead of real time. */
  constructor(offset = 0) {
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  now(): number {
    return Math.floor(performance.timeOrigin + this.monotonic());
  }

  monotonic(): number {
    return this.#stoodAt ?? performance.now() + this.#offset;
  }

  wakeAfter(ms: number, wake: () => void): Cancel {
    const entry: Wake = { due: this.monotonic() + Math.max(0, ms), wake, timer: undefined };
    this.#wakes.add(entry);
    this.#arm(entry);
    return () => this.#forget(entry);
  }

  /**
   * Moves time on and fires the wake-ups that are due, in the order of their instants; while the
   * clock stands this counts for later.
   */
  jump(ms: number): void {
    this.#offset += ms;
    if (this.#stoodAt === undefined) this.#fireDue();
  }

  /** Stands still: no wake-up fires, as in a process that gets no turn. */
  pause(): void {
    this.#stoodAt ??= this.monotonic();
    for (const entry of this.#wakes) clearTimeout(entry.timer);
  }

  /** Goes on as if it had never stood: the time has passed all the same. */
  resume(): void {
    this.#stoodAt = undefined;
    this.#fireDue();
    for (const entry of this.#wakes) this.#arm(entry);
  }

  #fireDue(): void {
    const now = this.monotonic();
    const due = [...this.#wakes]
      .filter((entry) => entry.due <= now)
      .sort((one, other) => one.due - other.due);
    for (const entry of due) this.#fire(entry);
    for (const entry of this.#wakes) this.#arm(entry);
  }

  #fire(entry: Wake): void {
    if (!this.#wakes.has(entry)) return;
    this.#forget(entry);
    entry.wake();
  }

  #arm(entry: Wake): void {
    clearTimeout(entry.timer);
    if (this.#stoodAt !== undefined) return;
    // Longer waits end with a jump, and no test takes that long.
    const ms = Math.min(Math.max(0, Math.ceil(entry.due - this.monotonic())), 3_600_000);
    // A timer may come a little early.
    entry.timer = setTimeout(
      () => (entry.due <= this.monotonic() ? this.#fire(entry) : this.#arm(entry)),
      ms,
    );
    entry.timer.unref();
  }

  #forget(entry: Wake): void {
    clearTimeout(entry.timer);
    this.#wakes.delete(entry);
  }
}
