import type { Scope } from "../../api/scope.ts";
import type { NameSets } from "./patterns.ts";
import type { ScopeContext } from "./scope-roles.ts";
import type { ResourceRequest, ScopedRequest } from "./scoped-request.ts";

/**
 * What one field of an entry restricts. An entry covers a request if all of its dimensions do, and
 * it is within another entry if it is in all dimensions.
 */
export interface Dimension<Entry> {
  /** The name of the field. */
  readonly name: string;
  /** The values of the field as texts; an empty list does not restrict. */
  readonly valuesOf: (entry: Entry) => readonly string[];
  /** The value of the request; undefined if it has none. */
  readonly askedOf: (request: ScopedRequest) => string | undefined;
  readonly covers: (entry: Entry, request: ScopedRequest, context: ScopeContext) => boolean;
  /** Whether any value of the field could cover the request; absent if one always can. */
  readonly applies?: (request: ScopedRequest) => boolean;
  /** Whether the field lists by name what a protected request needs; absent if it needs nothing. */
  readonly lists?: (entry: Entry, request: ResourceRequest, context: ScopeContext) => boolean;
  /** Whether the parent certainly covers whatever the child covers. */
  readonly narrows: (child: Entry, parent: Entry, sets: NameSets) => boolean;
}

/** The entries of one list of a scope. */
export interface EntryKind<Entry> {
  readonly list: keyof Scope;
  readonly entriesOf: (scope: Scope) => readonly Entry[];
  /** In the order in which an explanation names them. */
  readonly dimensions: readonly Dimension<Entry>[];
  /** The projects, all of whose requests contain those of an entry; empty or absent if none. */
  readonly projectsOf?: (entry: Entry) => readonly string[];
  /** Whether an entry is about requests of this kind; absent if all are. */
  readonly isAbout?: (entry: Entry, request: ScopedRequest) => boolean;
}
