import { CORE_SCHEMA, load } from "js-yaml";
import { ownObjects } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import {
  type IssuerEntry,
  issuersDataKey,
  issuersOf,
  type TakenNames,
} from "../domain/oidc/issuer-entries.ts";
import type { Issuers } from "../domain/oidc/trusted-tokens.ts";
import type { Logger } from "../runtime/log.ts";

/** The ConfigMap with the issuers, as far as it counts. */
export interface ObservedIssuers {
  readonly metadata: Metadata;
  readonly issuers: Issuers;
  /** Why its text is not taken, so that the former issuers count. */
  readonly refused?: RefusedConfig;
  /** Paths of fields that mean nothing. */
  readonly ignored: readonly string[];
}

interface RefusedConfig {
  /** Path in the text; empty for the whole. */
  readonly field: string;
  /** A sentence without subject and period. */
  readonly problem: string;
}

/** Where the ConfigMap is. */
export interface IssuerConfigOptions {
  /** Latchkey's own namespace. */
  readonly namespace: string;
  /** What no issuer may have, asked for each text. */
  readonly taken: () => TakenNames;
}

const noIssuers: Issuers = new Map();

/** The issuers in a store of the one ConfigMap. */
export function issuersIn(store: { values(): Iterator<ObservedIssuers> }): Issuers {
  const { value } = store.values().next();
  return value?.issuers ?? noIssuers;
}

/** Why the text of the one ConfigMap in a store is not taken; undefined if it is. */
export function issuersProblem(store: { values(): Iterator<ObservedIssuers> }): string | undefined {
  const { value } = store.values().next();
  const refused = value?.refused;
  const effect = value?.issuers.size === 0 ? "no issuer counts" : "the former issuers count";
  return (
    refused &&
    `the ConfigMap ${ownObjects.issuers} is refused, and ${effect}: ` +
      `${issuersDataKey}${refused.field === "" ? "" : `: ${refused.field}`} ${refused.problem}`
  );
}

/** Logs what is refused and what is ignored. */
export function logIssuers({ refused: problem, ignored }: ObservedIssuers, log: Logger): void {
  const about = { kind: "ConfigMap", object: ownObjects.issuers } as const;
  if (problem !== undefined)
    log.warn({ ...about, ...problem }, "issuers are refused, and the former ones, if any, count");
  if (ignored.length > 0) log.warn({ ...about, ignored }, "fields of issuers are ignored");
}

/**
 * How the ConfigMap `latchkey-issuers` is watched and parsed. The parser remembers the last issuers
 * that it has taken, until the ConfigMap is deleted: a text that is refused changes nothing, and an
 * issuer that stays as it is stays the same object.
 */
export function issuerConfig({ namespace, taken }: IssuerConfigOptions) {
  let last = noIssuers;
  return {
    listOptions: {
      resource: resources.configMaps,
      namespace,
      fieldSelector: `metadata.name=${ownObjects.issuers}`,
    },
    parse: (raw: unknown): ObservedIssuers => {
      const metadata = { ...parseMetadata(raw), labels: {}, annotations: {} };
      const result = issuersOf(raw, taken(), (text, maxDepth) =>
        load(text, { schema: CORE_SCHEMA, maxDepth }),
      );
      if (result.kind === "refused") {
        const { field, problem } = result;
        return { metadata, issuers: last, refused: { field, problem }, ignored: [] };
      }
      last = new Map(result.issuers.map((entry) => [entry.url, sameOr(entry, last)]));
      return { metadata, issuers: last, ignored: result.ignored };
    },
    /** Forgets the former issuers once the ConfigMap is deleted. */
    noteChange: ({ after }: { readonly after?: ObservedIssuers | undefined }): void => {
      if (after === undefined) last = noIssuers;
    },
  } as const;
}

/** The former entry, if it says the same. */
function sameOr(entry: IssuerEntry, former: Issuers): IssuerEntry {
  const known = former.get(entry.url);
  return known !== undefined && JSON.stringify(known) === JSON.stringify(entry) ? known : entry;
}
