import type { PassiveClock } from "./clock.ts";
import type { Logger } from "./log.ts";

/** Time after which files that are used are read again, in milliseconds. */
const rereadMs = 2_000;

/** What following files needs. */
interface FollowedFilesDeps {
  readonly clock: PassiveClock;
  readonly log?: Pick<Logger, "info" | "warn"> | undefined;
}

/** How files are read. */
interface FileReader<T> {
  /** What the log calls them. */
  readonly name: string;
  /** Reads them; the result is data. Throws what is wrong. */
  readonly read: () => T;
  /** Throws why content that has changed cannot be used. */
  readonly check?: (content: T) => void;
  /** Whether they can be read only once, like a pipe. */
  readonly isFinal?: (content: T) => boolean;
}

/**
 * What some files say, read again while it is used: a watch of a file misses the links that a
 * kubelet replaces. What cannot be used, as while it is written, changes nothing.
 */
export class FollowedFiles<T> {
  readonly #reader: FileReader<T>;
  readonly #deps: FollowedFilesDeps;
  #content: T;
  #text: string;
  #readAt: number;
  #changedAt: number;
  #isDue = false;
  #problem: string | undefined;

  /** Reads them; throws what `read` throws. */
  constructor(reader: FileReader<T>, deps: FollowedFilesDeps) {
    [this.#reader, this.#deps] = [reader, deps];
    this.#content = reader.read();
    this.#text = JSON.stringify(this.#content);
    this.#readAt = this.#changedAt = deps.clock.monotonic();
  }

  /** Why the last read changed nothing, in one sentence; undefined if they can be used. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The same for `/readyz`. */
  warnings(): readonly string[] {
    const problem = this.#problem;
    return problem === undefined ? [] : [`${problem}; the former content stays in use`];
  }

  /** When they last said something else, in monotonic milliseconds. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** What they say: the same object until it changes. Reads them if that was 2 seconds ago. */
  current(): T {
    const now = this.#deps.clock.monotonic();
    const isDue = this.#isDue || now - this.#readAt >= rereadMs;
    if (isDue && this.#reader.isFinal?.(this.#content) !== true) this.#readAgain(now);
    return this.#content;
  }

  /** Makes the next call of {@link current} read them. */
  expire(): void {
    this.#isDue = true;
  }

  #readAgain(now: number): void {
    [this.#readAt, this.#isDue] = [now, false];
    try {
      const { read, check } = this.#reader;
      const content = read();
      const text = JSON.stringify(content);
      if (text !== this.#text) {
        check?.(content);
        [this.#content, this.#text, this.#changedAt] = [content, text, now];
        this.#deps.log?.info({ files: this.#reader.name }, "changed files are in use");
      }
      this.#problem = undefined;
    } catch (error) {
      const before = this.#problem;
      const why = (this.#problem = problemOf(error));
      if (why !== before)
        this.#deps.log?.warn({ why }, "changed files cannot be used; the former content stays");
    }
  }
}

/** What is wrong, without the advice of an error that is for the start of the process. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "problem" in error ? String(error.problem) : error.message;
}
