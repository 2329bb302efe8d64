import type { ServerResponse } from "node:http";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { ApiRequest } from "./api-request.ts";

/** One line of a watch. */
export interface WatchLine {
  readonly type: string;
  readonly object: unknown;
}

/** An open watch of a controller through the proxy. */
export class OpenWatch {
  readonly request: ApiRequest;
  /** The proxy whose controller opened it; several controllers watch the same. */
  readonly proxy: object;
  readonly #answer: ServerResponse;
  #isSilent = false;

  constructor(request: ApiRequest, answer: ServerResponse, proxy: object) {
    this.request = request;
    this.proxy = proxy;
    this.#answer = answer;
  }

  /** Whether the same controller opened both for the same objects. */
  isSameAs({ request, proxy }: Pick<OpenWatch, "request" | "proxy">): boolean {
    return proxy === this.proxy && request.selection === this.request.selection;
  }

  /** Whether data still flows. */
  get isAlive(): boolean {
    return !this.#isSilent && !this.#answer.destroyed;
  }

  send(line: WatchLine): void {
    if (this.isAlive) this.#answer.write(`${JSON.stringify(line)}\n`);
  }

  /** Closes the connection. */
  cut(): void {
    this.#answer.destroy();
  }

  /** Keeps the connection open, without any further data. */
  silence(): void {
    this.#isSilent = true;
  }

  /** Makes the next events too old for the API server. */
  expire(): void {
    this.send({
      type: "ERROR",
      object: {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "Expired",
        code: 410,
        message: "too old resource version",
      },
    });
    this.#answer.end();
  }
}

/** `plural namespace/name` of the object in a line. */
export function subjectOf({ request }: OpenWatch, { object }: WatchLine): string {
  const metadata = recordAt(object, "metadata");
  return `${request.plural} ${stringAt(metadata, "namespace") ?? ""}/${stringAt(metadata, "name") ?? ""}`;
}
