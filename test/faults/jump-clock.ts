import type { Cancel, Clock } from "../../src/runtime/clock.ts";

interface Wake {
  readonly due: number;
  readonly wake: () => void;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Real time plus an offset that a test advances: a wait of 60 s ends after a few jumps. Each
 * controller has its own clock, so that one can be paused while the others continue.
 */
export class JumpClock implements Clock {
  readonly #wakes = new Set<Wake>();
  #offset: number;
  /** The monotonic time at which the clock was paused. */
  #stoodAt: number | undefined;

  /** Starts `offset` milliseconds ahead of real time. */
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
   * Advances the time and fires the wake-ups that are due, in the order of their times; while the
   * clock is paused, they fire on resume.
   */
  jump(ms: number): void {
    this.#offset += ms;
    if (this.#stoodAt === undefined) this.#fireDue();
  }

  /** Pauses the clock: no wake-up fires, as in a suspended process. */
  pause(): void {
    this.#stoodAt ??= this.monotonic();
    for (const entry of this.#wakes) clearTimeout(entry.timer);
  }

  /** Resumes the clock as if it had not been paused: the time has passed in the meantime. */
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
    // A timer may fire slightly early.
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
