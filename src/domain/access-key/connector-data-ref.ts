import { annotations } from "../../api/names.ts";

/**
 * A reference to the connector data of a key: the name of its Secret in Latchkey's namespace, and a
 * keyed hash by which only the webhook can check whether data that is sent again has changed.
 */
export interface ConnectorDataRef {
  readonly secret: string;
  /** HMAC-SHA256 in lower-case hex. */
  readonly mark: string;
}

const form = /^(latchkey-connector-[0-9a-f]{32})\/([0-9a-f]{64})$/;

/** Parses the reference from annotations; undefined when it is missing or malformed. */
export function connectorDataRef(
  given: Readonly<Record<string, string>>,
): ConnectorDataRef | undefined {
  const [, secret, mark] = form.exec(given[annotations.connectorData] ?? "") ?? [];
  return secret === undefined || mark === undefined ? undefined : { secret, mark };
}

/** The value of the annotation for a reference. */
export function connectorDataRefText({ secret, mark }: ConnectorDataRef): string {
  return `${secret}/${mark}`;
}
