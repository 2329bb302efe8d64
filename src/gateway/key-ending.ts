import { apiVersion } from "../api/names.ts";
import { recordAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { type KeyEnd, keyEndIn } from "../domain/gateway/key-end.ts";
import { bodyFormat } from "../domain/gateway/object-defaults.ts";
import { valuesOfField } from "../domain/gateway/raw-headers.ts";
import { type Refusal, unauthorized } from "../domain/gateway/refusal.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { accessRefusal } from "./admit-request.ts";
import { notReady } from "./credential.ts";
import type { OwnBody } from "./own-body.ts";
import { parsedBody } from "./parsed-body.ts";
import { type WholeAnswer, WholeExchange } from "./whole-exchange.ts";

/**
 * A PATCH of the own key of a request. If it asks for nothing but the end of the key, the gateway
 * ends the key with its own right, whatever the scope of the key and the rights of its user are
 * (docs/decisions/keys-made-with-keys.md). Any other change is decided and forwarded as usual.
 */
export class KeyEnding extends WholeExchange {
  protected override async reply(): Promise<WholeAnswer | Refusal> {
    const body = await this.body.read(this.exchange);
    if (body.kind === "refusal") return body;
    if (!this.admitted.credential.isValid()) return unauthorized;
    const end = this.#endIn(body);
    const ended = end && (await this.#end(end));
    return ended ?? (await accessRefusal(this.admitted, this.left)) ?? this.#forward(body);
  }

  #endIn({ content }: OwnBody): KeyEnd | undefined {
    const { rawHeaders } = this.exchange.head;
    const format = bodyFormat("patch", valuesOfField(rawHeaders, "content-type")[0]);
    const isRead = format === "merge-patch" || format === "json-patch";
    return isRead ? keyEndIn(parsedBody(content.toString("utf8"), false)) : undefined;
  }

  /** Ends the key; undefined if the API server refuses that for what is asked. */
  async #end(end: KeyEnd): Promise<WholeAnswer | Refusal | undefined> {
    const { ownKey } = this.admitted.credential;
    if (ownKey === undefined) return undefined;
    this.mayBeDone = true;
    try {
      return endedAnswer(await ownKey.end(end));
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.mayBeDone = false;
      const isRefused = isKubeError(error, "Forbidden", "NotFound", "Conflict", "Invalid");
      return isRefused ? undefined : notReady("the key could not be changed; retry");
    }
  }

  #forward({ content }: OwnBody): Promise<WholeAnswer> {
    const { path, query } = this.admitted.target;
    const accept = valuesOfField(this.exchange.head.rawHeaders, "accept").join(", ");
    return this.collect({
      method: "PATCH",
      target: path + query,
      body: content,
      ...(accept === "" ? {} : { accept }),
    });
  }
}

/** The object without its spec, which holds the key. */
function endedAnswer(object: unknown): WholeAnswer {
  const { name, uid, resourceVersion, generation, creationTimestamp } = recordAt(
    object,
    "metadata",
  );
  const metadata = { name, uid, resourceVersion, generation, creationTimestamp };
  const { kind } = resources.ownedAccessKeys;
  return {
    kind: "answer",
    status: 200,
    rawHeaders: ["content-type", "application/json", "cache-control", "no-cache, private"],
    body: Buffer.from(JSON.stringify({ apiVersion, kind, metadata })),
  };
}
