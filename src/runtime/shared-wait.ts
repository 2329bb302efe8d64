interface Waiter<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening for its leaving. */
  readonly stay: () => void;
}

/**
 * One promise that many wait for, and each may leave: a promise itself refers to all that wait for
 * it until it settles. If it rejects and none waits, that is no error.
 */
export class SharedWait<T> {
  readonly #promise: Promise<T>;
  readonly #waiters = new Set<Waiter<T>>();
  #isSettled = false;

  constructor(promise: Promise<T>) {
    this.#promise = promise;
    promise.then(
      (value) => this.#settle(({ resolve }) => resolve(value)),
      (error: unknown) => this.#settle(({ reject }) => reject(error)),
    );
  }

  /** Number of those who wait. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Waits for the promise. When `left` aborts, the wait rejects with its reason at once, and
   * nothing refers to it any more.
   */
  wait(left?: AbortSignal): Promise<T> {
    if (left?.aborted === true) return Promise.reject(left.reason);
    if (this.#isSettled) return this.#promise;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const leave = (): void => {
      this.#waiters.delete(waiter);
      reject(left?.reason);
    };
    const stay = (): void => left?.removeEventListener("abort", leave);
    const waiter = { resolve, reject, stay };
    this.#waiters.add(waiter);
    left?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  #settle(tell: (waiter: Waiter<T>) => void): void {
    this.#isSettled = true;
    for (const waiter of this.#waiters) {
      waiter.stay();
      tell(waiter);
    }
    this.#waiters.clear();
  }
}
