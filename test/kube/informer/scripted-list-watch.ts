import { keyOf, type ObjectRef } from "../../../src/api/object.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import type { ListWatch, WatchStart } from "../../../src/kube/informer/list-watch.ts";
import type { ListOptions } from "../../../src/kube/informer/list-options.ts";
import type { WatchEvent } from "../../../src/kube/informer/watch-stream.ts";

/** The response to a list, or its failure. */
export type ListAnswer =
  | {
      readonly resourceVersion: string;
      readonly pages: readonly (readonly unknown[])[];
      /** The list lasts until then. */
      readonly until?: Promise<void>;
    }
  | Error;

/**
 * A scripted ListWatch: lists return prepared responses, and a watch stays open until the test ends
 * it.
 */
export class ScriptedListWatch implements ListWatch {
  readonly #lists: ListAnswer[];
  readonly #versions: (string | Error)[] = [];
  #watch:
    | {
        readonly onEvents: (events: readonly WatchEvent[]) => void;
        readonly end: (failure?: Error) => void;
      }
    | undefined;
  #refusals: (Error | "hangs")[] = [];
  #get: PromiseWithResolvers<unknown> | undefined;
  /** The requests so far, such as `list` and `watch 7`. */
  readonly calls: string[] = [];
  /** The options of the last watch. */
  asked: WatchStart | undefined;

  constructor(...lists: readonly ListAnswer[]) {
    this.#lists = [...lists];
  }

  /** Prepares the response to one more list. */
  willList(answer: ListAnswer): void {
    this.#lists.push(answer);
  }

  async list(
    _selection: ListOptions,
    _signal: AbortSignal,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string> {
    this.calls.push("list");
    const answer = this.#lists.shift() ?? new Error("the script has no more lists");
    if (answer instanceof Error) throw answer;
    await answer.until;
    for (const items of answer.pages)
      await onEvents(items.map((object) => ({ type: "ADDED", object })));
    return answer.resourceVersion;
  }

  /** Responds like a list without objects. */
  async version(): Promise<string> {
    this.calls.push("version");
    const answer = this.#versions.shift() ?? new Error("the script has no more versions");
    if (answer instanceof Error) throw answer;
    return answer;
  }

  /** Prepares the response to one more request for the resourceVersion. */
  willShow(answer: string | Error): void {
    this.#versions.push(answer);
  }

  /** Waits for {@link answerGet}. */
  get(_selection: ListOptions, ref: ObjectRef): Promise<unknown> {
    this.calls.push(`get ${keyOf(ref)}`);
    this.#get = Promise.withResolvers<unknown>();
    return this.#get.promise;
  }

  /**
   * Resolves the last read of an object: with the object, undefined if there is none, or a failure.
   */
  answerGet(answer: unknown): void {
    if (answer instanceof Error) this.#get?.reject(answer);
    else this.#get?.resolve(answer);
  }

  watch(
    _selection: ListOptions,
    from: WatchStart,
    onEvents: (events: readonly WatchEvent[]) => void,
  ): Promise<void> {
    this.calls.push(`watch ${from.resourceVersion}`);
    this.asked = from;
    const refusal = this.#refusals.shift();
    if (refusal === "hangs") return rejectedAtAbort(from.signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    from.onOpen();
    if (from.signal.aborted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#watch = {
        onEvents,
        end: (failure) => (failure === undefined ? resolve() : reject(failure)),
      };
      from.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Has the next watches fail before they are open. */
  willRefuse(...failures: readonly Error[]): void {
    this.#refusals.push(...failures);
  }

  /** Leaves the next watch without an answer until it is aborted. */
  willHang(): void {
    this.#refusals.push("hangs");
  }

  /** Sends events over the open watch. */
  send(...events: readonly (readonly [type: string, object: unknown])[]): void {
    this.sendEvents(...events.map(([type, object]) => ({ type, object })));
  }

  /** Sends events as they are. */
  sendEvents(...events: readonly WatchEvent[]): void {
    if (this.#watch === undefined) throw new Error("no watch is open");
    this.#watch.onEvents(events);
  }

  /** Ends the open watch, with a failure if one is given. */
  end(failure?: Error): void {
    this.#watch?.end(failure);
    this.#watch = undefined;
  }
}

function rejectedAtAbort(signal: AbortSignal): Promise<never> {
  const failure = new KubeError("the request was aborted", { code: "Network", status: 0 });
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(failure), { once: true });
  });
}
