import type { ReviewedRequest } from "../../api/access-review.ts";
import { group } from "../../api/names.ts";
import { isRecord, ownValue } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { parseQuery } from "./query.ts";
import type { Framing } from "./request-head.ts";
import type { Upstream } from "./request-target.ts";

/** A change of a spec that can end a key, and nothing else. */
export interface KeyEnd {
  readonly disabled?: true;
  /** Seconds. */
  readonly ttl?: number;
  readonly ttlAfterLastActivity?: false;
}

/** What a head says about a request with a key. */
interface RequestOfKey {
  readonly request: ReviewedRequest;
  readonly upstream: Upstream | undefined;
  readonly framing: Framing;
  readonly query: string;
}

/** Bytes of a body that may end a key; that of kubectl has 28. */
export const mostKeyEndBytes = 1024;

const parameters: readonly string[] = ["fieldManager", "fieldValidation", "pretty"];

/**
 * Whether a request may be the wish of a holder to end the own key: a small PATCH of its object,
 * by its name or uid. Only the body tells.
 */
export function mayEndKey(
  { request, upstream, framing, query }: RequestOfKey,
  { name, uid }: { readonly name: string; readonly uid: string },
): boolean {
  return (
    request.kind === "resource" &&
    upstream?.kind === "management" &&
    request.verb === "patch" &&
    request.group === group &&
    request.resource === resources.ownedAccessKeys.plural &&
    request.subresource === "" &&
    (request.name === name || request.name === uid) &&
    framing.kind === "body" &&
    (framing.length ?? Infinity) <= mostKeyEndBytes &&
    parseQuery(query).every(([parameter]) => parameters.includes(parameter))
  );
}

/**
 * The end that a JSON merge patch (RFC 7386) or a JSON Patch (RFC 6902) asks for; undefined if it
 * asks for anything else, or for more.
 */
export function keyEndIn(body: unknown): KeyEnd | undefined {
  if (Array.isArray(body)) return endOf(body.map(addedField));
  const spec =
    isRecord(body) && Object.keys(body).length === 1 ? ownValue(body, "spec") : undefined;
  return isRecord(spec) ? endOf(Object.entries(spec)) : undefined;
}

type Field = readonly [name: string, value: unknown];

const pointer = "/spec/";

function addedField(operation: unknown): Field {
  if (!isRecord(operation)) return ["", undefined];
  const { op, path, value } = operation;
  const isAdded = op === "add" || op === "replace";
  return isAdded && typeof path === "string" && path.startsWith(pointer)
    ? [path.slice(pointer.length), value]
    : ["", undefined];
}

function endOf(fields: readonly Field[]): KeyEnd | undefined {
  const isEnd = fields.length > 0 && fields.every(([name, value]) => endsBy(name, value));
  return isEnd ? Object.fromEntries(fields) : undefined;
}

function endsBy(name: string, value: unknown): boolean {
  if (name === "ttl") return Number.isSafeInteger(value) && Number(value) > 0;
  return (
    (name === "disabled" && value === true) || (name === "ttlAfterLastActivity" && value === false)
  );
}
