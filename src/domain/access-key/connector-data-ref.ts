import { annotations } from "../../api/names.ts";

/**
 * Where the connector data of a key is: the name of its Secret in Latchkey's namespace, and a mark
 * by which the webhook, and nobody else, tells whether data that is sent again is what is there
 * already.
 */
export interface ConnectorDataRef {
  readonly secret: string;
  /** HMAC-SHA256 in lower-case hex. */
  readonly mark: string;
}

const form = /^(latchkey-connector-[0-9a-f]{32})\/([0-9a-f]{64})$/;

/** The claim among these annotations; undefined when there is none, or no such text. */
export function connectorDataRef(
  given: Readonly<Record<string, string>>,
): ConnectorDataRef | undefined {
  const [, secret, mark] = form.exec(given[annotations.connectorData] ?? "") ?? [];
  return secret === undefined || mark === undefined ? undefined : { secret, mark };
}

/** The annotation of a claim. */
export function connectorDataRefText({ secret, mark }: ConnectorDataRef): string {
  return `${secret}/${mark}`;
}
