import { annotations, components, labels } from "../../src/api/names.ts";
import { isRecord, listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import type { ApiRequest } from "../support/api-request.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";
import type { View } from "../support/visible-objects.ts";

/**
 * The number of creates, updates and deletes of each object; keys have the form `update secrets
 * the-web/db`.
 */
export type Counts = ReadonlyMap<string, number>;

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "update",
  DELETE: "delete",
};

/**
 * Counts the writes of one run; names that begin with the run's prefix, or contain a uid, are
 * replaced by names that all runs share.
 */
export class Ledger {
  readonly #view: View;
  readonly #counts = new Map<string, number>();
  readonly #aliases = new Map<string, string>();
  readonly #asked: string[] = [];
  readonly #reads: string[] = [];
  readonly #trace: string[] = [];
  readonly #now: () => number;
  readonly #began: number;

  /** `now` returns milliseconds of the clock that the controllers of the run share. */
  constructor(view: View, now: () => number) {
    this.#view = view;
    this.#now = now;
    this.#began = now();
  }

  /** Writes that the API server has executed, without Events. */
  get counts(): Counts {
    return this.#counts;
  }

  /** Every requested write, as one line each. */
  get asked(): readonly string[] {
    return this.#asked;
  }

  /**
   * Requests and responses of the API server, each with its time in milliseconds of the clock, for
   * debugging.
   */
  get trace(): readonly string[] {
    return this.#trace;
  }

  /** Adds a line to the trace. */
  note(text: string): void {
    this.#trace.push(`${Math.round(this.#now() - this.#began)} ms: ${text}`);
  }

  /** Every read of a Secret with its data, as one line each. */
  get reads(): readonly string[] {
    return this.#reads;
  }

  read(request: ApiRequest): void {
    const sentence = `read ${this.sentence(request, request.name ?? "").replace(/^GET /, "")}`;
    this.#reads.push(sentence);
    this.note(sentence);
  }

  ask(request: ApiRequest): void {
    const sentence = this.sentence(request, request.name ?? "new");
    this.#asked.push(sentence);
    this.note(sentence);
  }

  commit(request: ApiRequest, sent: string, answer: ProxyAnswer): void {
    this.note(`${answer.status} to ${this.sentence(request, request.name ?? "new")}`);
    if (answer.status >= 300 || request.plural === "events") return;
    const object = parsed(sent);
    const name = request.name ?? stringAt(recordAt(object, "metadata"), "name") ?? "";
    this.#learn(name, object);
    const entry = this.sentence(request, name);
    this.#counts.set(entry, (this.#counts.get(entry) ?? 0) + 1);
  }

  sentence({ method, plural, namespace, subresource }: ApiRequest, name: string): string {
    // The uid of a source decides which report it is in.
    const shared = name.replace(/^report-\d+$/, "report");
    const place = [namespace, this.#aliases.get(name) ?? shared]
      .filter((part) => part !== undefined)
      .join("/");
    const what = subresource === undefined ? plural : `${plural}/${subresource}`;
    return `${verbs[method] ?? method} ${what} ${place.replaceAll(this.#view.prefix, "the-").replace(this.#view.system, "system")}`;
  }

  #learn(name: string, object: unknown): void {
    const { annotations: annotated, labels: given } = recordAt(object, "metadata");
    const copyOf = isRecord(annotated) ? stringAt(annotated, annotations.copyOf) : undefined;
    if (name.startsWith("latchkey-data-"))
      this.#aliases.set(name, `data of ${copyOf?.replace(/ ->.*/s, "").split("/")[1]}`);
    if (stringAt(given, labels.component) === components.connectorData)
      this.#aliases.set(name, "connector data");
    const [rule] = listAt(object, "rules");
    const requester = isRecord(annotated) ? stringAt(annotated, annotations.requester) : undefined;
    const source = isRecord(annotated) ? stringAt(annotated, annotations.source) : undefined;
    if (source !== undefined && stringAt(given, labels.outboxUid) !== undefined)
      this.#aliases.set(name, `entry of ${source}`);
    else if (requester !== undefined) this.#aliases.set(name, `grant for ${requester}`);
    else if (source !== undefined && rule !== undefined) {
      this.#aliases.set(
        name,
        `role for ${source} to ${stringsAt(rule, "verbs").join(" ")} ${stringsAt(rule, "resources").join(" ")}`,
      );
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
