import type { Backend } from "./backend.ts";
import type { Fault, Moment } from "./fault.ts";
import type { Call, Run } from "./run.ts";

/** A fault, and when it is injected. */
export interface Injection<B extends Backend> {
  readonly fault: Fault<B>;
  readonly moment: Moment;
}

/** Injects a fault at its moment. */
export class FaultInjector<B extends Backend> {
  readonly #run: Run<B>;
  readonly #injection: Injection<B> | undefined;
  #calls = 0;
  /**
   * The request or change at which the fault was injected; undefined if its moment was not reached.
   */
  injectedAt: string | undefined;

  constructor(run: Run<B>, injection: Injection<B> | undefined) {
    this.#run = run;
    this.#injection = injection;
  }

  /** Counts writes and reads from now on. */
  arm(): void {
    const { ledger } = this.#run.logbook;
    if (this.#injection?.moment.at === "call")
      this.#run.activate({ onCall: (call) => this.#onCall(call, ledger.asked) });
    if (this.#injection?.moment.at === "read")
      this.#run.activate({ onRead: (call) => this.#onCall(call, ledger.reads) });
  }

  /** Injects the fault if this change is its moment. */
  async beforeChange(number: number): Promise<void> {
    if (this.#injection?.fault.needsLists === true && this.injectedAt === undefined)
      await this.#run.lists.record();
    const { target } = this.#run;
    if (
      this.#injection?.moment.at !== "change" ||
      this.#injection.moment.number !== number ||
      target === undefined
    )
      return;
    this.injectedAt = `change ${number}`;
    this.#run.activate((await this.#injection.fault.begin?.(target, this.#run)) ?? {});
  }

  #onCall(call: Call<B>, requests: readonly string[]) {
    if (this.#injection === undefined) return undefined;
    const { fault, moment } = this.#injection;
    const asked = requests.at(-1) ?? "";
    if (!("of" in moment) || moment.of?.test(asked) !== false) this.#calls += 1;
    if (this.#calls !== moment.number) return undefined;
    this.injectedAt = asked;
    this.#run.activate({});
    if (fault.call !== undefined) return fault.call(call, this.#run);
    return this.#begin(call, fault);
  }

  async #begin(call: Call<B>, fault: Fault<B>) {
    this.#run.activate((await fault.begin?.(call.instance, this.#run)) ?? {});
    return call.forward();
  }
}
