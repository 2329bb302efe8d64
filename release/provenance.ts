import { documentation } from "./registry.ts";

/** A file or an image of a release, by name and SHA-256 in hexadecimal digits. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/** What a release was built from, where, and when if that is to be said. */
export interface Build {
  /** The address of the repository, such as `https://git.example.com/latchkey`. */
  readonly repository: string;
  /** The Git reference, such as `refs/tags/v0.1.0`, and its commit in hexadecimal digits. */
  readonly ref: string;
  readonly commit: string;
  /** The SHA-256 of package-lock.json in hexadecimal digits. */
  readonly lockSha256: string;
  /** The URI of the builder, which says who runs it. */
  readonly builder: string;
  readonly times?: { readonly startedOn: Date; readonly finishedOn: Date };
}

/** A statement of in-toto (https://github.com/in-toto/attestation/blob/main/spec/v1). */
export interface Statement {
  readonly _type: "https://in-toto.io/Statement/v1";
  readonly subject: readonly ResourceDescriptor[];
  readonly predicateType: "https://slsa.dev/provenance/v1";
  readonly predicate: Provenance;
}

/** A file, an image or a repository with its digest. */
interface ResourceDescriptor {
  readonly name?: string;
  readonly uri?: string;
  readonly digest: Readonly<Record<string, string>>;
}

/** The predicate of https://slsa.dev/spec/v1.0/provenance. */
interface Provenance {
  readonly buildDefinition: {
    readonly buildType: string;
    readonly externalParameters: { readonly ref: string };
    readonly resolvedDependencies: readonly ResourceDescriptor[];
  };
  readonly runDetails: {
    readonly builder: { readonly id: string };
    readonly metadata?: { readonly startedOn: string; readonly finishedOn: string };
  };
}

/** The URI of the way a release is built: the section of a page that describes its parameters. */
export const buildType = `${documentation}/verify-release#build-type-1`;

/**
 * The provenance of the files of a release, sorted by name: the same build gives the same statement
 * if it says no times. Throws an Error that quotes a digest or commit of another form, or a name of
 * two subjects.
 */
export function provenanceOf(subjects: readonly Subject[], build: Build): Statement {
  const sorted = subjects.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (sorted.length === 0) throw new Error("a statement needs a subject");
  for (const [at, { name }] of sorted.entries())
    if (name === sorted[at + 1]?.name) throw new Error(`two subjects are named "${name}"`);
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: sorted.map(({ name, sha256 }) => ({ name, digest: { sha256: digest(sha256) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: { buildDefinition: buildDefinition(build), runDetails: runDetails(build) },
  };
}

function buildDefinition(build: Build): Provenance["buildDefinition"] {
  const { repository, ref, commit, lockSha256 } = build;
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit))
    throw new Error(`"${commit}" is not a commit in hexadecimal digits`);
  return {
    buildType,
    externalParameters: { ref },
    resolvedDependencies: [
      { uri: `git+${repository}@${ref}`, digest: { gitCommit: commit } },
      { name: "package-lock.json", digest: { sha256: digest(lockSha256) } },
    ],
  };
}

function runDetails({ builder, times }: Build): Provenance["runDetails"] {
  if (times === undefined) return { builder: { id: builder } };
  const { startedOn, finishedOn } = times;
  const metadata = { startedOn: startedOn.toISOString(), finishedOn: finishedOn.toISOString() };
  return { builder: { id: builder }, metadata };
}

function digest(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256))
    throw new Error(`"${sha256}" is not a SHA-256 in hexadecimal digits`);
  return sha256;
}
