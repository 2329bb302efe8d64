import { annotations } from "../api/names.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Request } from "./question.ts";

const everyMs = 1_000;
/** Maximum number of sources that a line names. */
const mostNamed = 10;

/** Says in the log, at most once a second, how many copies were written and removed. */
export class WrittenCopies {
  readonly #clock: Clock;
  readonly #log: Pick<Logger, "info">;
  readonly #sources = new Set<string>();
  #written = 0;
  #removed = 0;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Pick<Logger, "info"> }) {
    [this.#clock, this.#log] = [clock, log];
  }

  /** Counts a request about a copy that has succeeded. */
  note(request: Request): void {
    const isFirst = this.#written + this.#removed === 0;
    if (request.do === "delete") this.#removed += 1;
    else if (request.do !== "create" && request.do !== "replace") return;
    // What is emptied has the digest of no data, or none.
    else if (!request.dataDigest) this.#removed += 1;
    else {
      this.#written += 1;
      const of = request.object.metadata.annotations?.[annotations.copyOf] ?? "";
      if (this.#sources.size < mostNamed) this.#sources.add(of.split(" -> ", 1).join());
    }
    if (isFirst) this.#clock.wakeAfter(everyMs, () => this.#say());
  }

  #say(): void {
    const fields = { written: this.#written, removed: this.#removed, objects: [...this.#sources] };
    this.#log.info(fields, "copies written");
    [this.#written, this.#removed] = [0, 0];
    this.#sources.clear();
  }
}
