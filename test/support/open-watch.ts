import type { ServerResponse } from "node:http";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { ApiRequest } from "./api-request.ts";

/** One line of a watch. */
export interface WatchLine {
  readonly type: string;
  readonly object: unknown;
}

/** A watch that a controller holds open through the proxy. */
export class OpenWatch {
  readonly request: ApiRequest;
  readonly #answer: ServerResponse;
  #isSilent = false;

  constructor(request: ApiRequest, answer: ServerResponse) {
    this.request = request;
    this.#answer = answer;
  }

  /** Whether bytes still flow. */
  get isAlive(): boolean {
    return !this.#isSilent && !this.#answer.destroyed;
  }

  send(line: WatchLine): void {
    if (this.isAlive) this.#answer.write(`${JSON.stringify(line)}\n`);
  }

  /** The connection breaks. */
  cut(): void {
    this.#answer.destroy();
  }

  /** The connection looks open, and no byte comes any more. */
  silence(): void {
    this.#isSilent = true;
  }

  /** The API server no longer has the events that would come next. */
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

/** `plural namespace/name` of the object that a line is about. */
export function subjectOf({ request }: OpenWatch, { object }: WatchLine): string {
  const metadata = recordAt(object, "metadata");
  return `${request.plural} ${stringAt(metadata, "namespace") ?? ""}/${stringAt(metadata, "name") ?? ""}`;
}
