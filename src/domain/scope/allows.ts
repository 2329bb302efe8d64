import { resources } from "../../api/resources.ts";
import { type Scope, type ScopeLimit, serviceCLI } from "../../api/scope.ts";
import { isAlwaysAllowed } from "./always-allowed.ts";
import { type Protection, protectionOf } from "./derived-credentials.ts";
import type { Dimension, EntryKind } from "./dimension.ts";
import { entryKinds } from "./entry-kinds.ts";
import { qualifiedResource } from "./patterns.ts";
import { ruleKind } from "./rule-kind.ts";
import { haveRoles, type ScopeContext } from "./scope-roles.ts";
import type { ResourceRequest, ScopedRequest } from "./scoped-request.ts";

/**
 * The decision of a scope about a request; the reason names the request and is sent to the user.
 */
type ScopeVerdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly by: "scope"; readonly reason: string };

const allowed: ScopeVerdict = { kind: "allowed" };

/**
 * Whether a request is within a scope (specification, Scope). A scope never grants permissions. Any
 * entry that covers the request is enough, except if the request could yield a credential or change
 * what is in scope: then a rule must name the resource.
 */
export function allows(
  limit: ScopeLimit,
  request: ScopedRequest,
  context: ScopeContext,
): ScopeVerdict {
  if (limit === "none" || (limit !== "unreadable" && isAlwaysAllowed(request))) return allowed;
  if (limit === "unreadable") return denied(request, "the scope is invalid");
  const asked = askedOf(request, context);
  const isAllowed = entryKinds.some((of) =>
    of(
      (kind) =>
        isOpenTo(kind, asked) &&
        kind.entriesOf(limit).some((entry) => entryCovers(kind, entry, asked)),
    ),
  );
  return isAllowed ? allowed : denied(request, denialOf(limit, asked));
}

/** A request and what decides about it. */
export interface AskedRequest {
  readonly request: ScopedRequest;
  readonly protection: Protection | undefined;
  readonly context: ScopeContext;
}

/** A request and what decides about it in this context. */
export function askedOf(request: ScopedRequest, context: ScopeContext): AskedRequest {
  return { request, protection: protectionOf(request, context.ownNamespace), context };
}

/** Whether an entry covers a request, and lists by name what a protected request needs. */
export function entryCovers<Entry>(
  { isAbout, dimensions }: EntryKind<Entry>,
  entry: Entry,
  asked: AskedRequest,
): boolean {
  return (
    (isAbout === undefined || isAbout(entry, asked.request)) &&
    dimensions.every((dimension) => dimensionCovers(dimension, entry, asked))
  );
}

/** Whether a field of an entry, whatever its other fields are, does not deny a request. */
export function dimensionCovers<Entry>(
  { covers, lists }: Dimension<Entry>,
  entry: Entry,
  { request, protection, context }: AskedRequest,
): boolean {
  if (!covers(entry, request, context)) return false;
  return (
    protection === undefined ||
    request.kind === "path" ||
    lists === undefined ||
    lists(entry, request, context)
  );
}

/**
 * Whether any entry of a kind can allow a request. Only a rule can name the resource of an escape,
 * or of a request in a guarded namespace.
 */
export function isOpenTo<Entry>(
  { list }: EntryKind<Entry>,
  { request, protection }: AskedRequest,
): boolean {
  if (request.kind === "path") return true;
  if (request.resourceScope === "Unknown" || protection === "several") return false;
  // Secrets of all namespaces include those of guarded namespaces.
  if (protection === "secrets") return request.namespace !== "";
  return protection === undefined || list === "rules";
}

const notCovered = "no entry of the scope covers it";

function denialOf(scope: Scope, { request, protection, context }: AskedRequest): string {
  if (request.kind === "path") return notCovered;
  if (protection === "several")
    return "that includes requests that only a rule with their names covers; ask for one";
  if (request.resourceScope === "Unknown") return "the API server does not serve this resource";
  switch (protection) {
    case undefined:
      return notCovered + adviceOf(request);
    case "guarded":
      return (
        `namespace ${request.namespace} is protected; ` +
        "a rule must list this namespace and this resource by name"
      );
    case "escape":
      return "it could escape the scope; a rule must list this resource by name";
    case "secrets": {
      if (request.namespace === "")
        return "a scope does not cover Secrets of all namespaces; request one namespace";
      const asked = { request, protection: undefined, context };
      return scope.rules.some((rule) => entryCovers(ruleKind, rule, asked))
        ? "a rule covers Secrets only if its resources list secrets by name"
        : notCovered;
    }
  }
}

/** What to set for a list that tools begin with, although they need one namespace only. */
function adviceOf(request: ResourceRequest): string {
  const { group, resource, verb, name, namespace, resourceScope } = request;
  if (namespace !== "" || name !== "" || (verb !== "list" && verb !== "watch")) return "";
  const orRole = haveRoles(request) ? ", or add a role to the scope that allows it" : "";
  if (group === "" && resource === resources.namespaces.plural)
    return (
      "; set the namespace in the tool or in its kubeconfig" +
      orRole +
      (orRole && `, such as ${serviceCLI}`)
    );
  return resourceScope === "Namespaced"
    ? `; set one namespace in the tool or in its kubeconfig${orRole}`
    : "";
}

function denied(request: ScopedRequest, why: string): ScopeVerdict {
  return {
    kind: "denied",
    by: "scope",
    reason: `the scope of this credential does not allow ${requestText(request)}: ${why}`,
  };
}

/** A request as text: verb, resource and group, name and namespace. */
export function requestText(request: ScopedRequest): string {
  if (request.kind === "path") return `${request.verb} ${request.path}`;
  const group = request.group === "" ? "" : `.${request.group}`;
  const name = request.name === "" ? "" : ` ${request.name}`;
  const place = request.namespace === "" ? "" : ` in namespace ${request.namespace}`;
  return `${request.verb} ${qualifiedResource(request)}${group}${name}${place}`;
}
