import { group, tokenExtras } from "../../api/names.ts";

/** How a connected cluster trusts direct tokens. */
export interface AuthenticationOptions {
  readonly issuer: string;
  /** The URL of the discovery document; undefined if it is below the issuer. */
  readonly discoveryUrl: string | undefined;
  /** PEM; undefined for the CAs that the machine of kube-apiserver trusts. */
  readonly certificateAuthority: string | undefined;
  /** A token has one audience, which must be one of these. */
  readonly audiences: readonly string[];
  /** Seconds. */
  readonly maximumTokenTtl: number;
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  /** Whether an authorizer of Latchkey enforces scopes and revocations there. */
  readonly isAuthorized: boolean;
}

/** An AuthenticationConfiguration (Kubernetes, "Authenticating"). */
interface AuthenticationConfiguration {
  readonly apiVersion: string;
  readonly kind: string;
  readonly jwt: readonly Readonly<Record<string, unknown>>[];
}

/** The name of the file that kube-apiserver reads. */
export const authenticationFile = "authentication.yaml";

/**
 * Returns the AuthenticationConfiguration of a cluster that trusts direct tokens and no other
 * issuer.
 */
export function authenticationConfiguration(
  options: AuthenticationOptions,
): AuthenticationConfiguration {
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [
      {
        issuer: issuerOf(options),
        claimValidationRules: claimRules(options),
        claimMappings: {
          username: { claim: "sub", prefix: options.usernamePrefix },
          groups: { claim: "groups", prefix: options.groupsPrefix },
          extra: extraMappings,
        },
        userValidationRules: userRules,
      },
    ],
  };
}

/**
 * Returns the flags of kube-apiserver and what an administrator has to know about the file, a line
 * each; a line with a flag begins with `--`. `authorizationFlag` is that for the authorizer of
 * Latchkey; undefined without one.
 */
export function authenticationNotes(
  { directory }: { readonly directory: string },
  authorizationFlag: string | undefined,
): readonly string[] {
  return [
    "Flag of kube-apiserver; take every --oidc-* flag away, which this flag excludes:",
    "add the issuer of --oidc-issuer-url to the file instead.",
    `--authentication-config=${directory}/${authenticationFile}`,
    ...(authorizationFlag === undefined
      ? withoutAuthorizer
      : [...beforeAuthorizer, authorizationFlag, ...withAuthorizer]),
    "Apply config/connected-policies to this cluster: without it, a token that may write " +
      "Secrets makes a",
    "service account token, which has no scope and no end.",
    "kube-apiserver has to reach the issuer once after each restart before it accepts any " +
      "direct token,",
    "and again for the first token of each new signing key.",
  ];
}

const withoutAuthorizer: readonly string[] = [
  "This cluster has no authorizer of Latchkey, which has these consequences:",
  "- A token with a scope is refused, because nothing in this cluster enforces the scope.",
  "- A token stays valid until its exp, also when its object, its access key or its user is " +
    "deleted.",
  "Run latchkey webhook --direct in this cluster and add --authorization to change both.",
];

const beforeAuthorizer: readonly string[] = [
  "Flag of kube-apiserver; take --authorization-mode away:",
];

const withAuthorizer: readonly string[] = [
  "latchkey webhook --direct authorizes every request with a direct token:",
  "- It denies what the scope of the token does not cover, and every request of a revoked token.",
  "- While it is away, requests with direct tokens get the status 500, and all other requests " +
    "work.",
  "- A watch, exec or port-forward that is open when its token is revoked continues until it ends:",
  "  kube-apiserver authorizes a request once. The direct endpoint ends it.",
  "Its client certificate in the kubeconfig is valid for a year; run this command again before.",
];

function issuerOf({
  issuer,
  discoveryUrl,
  certificateAuthority,
  audiences,
}: AuthenticationOptions): object {
  return {
    url: issuer,
    ...(discoveryUrl === undefined ? {} : { discoveryURL: discoveryUrl }),
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    audiences,
    // kube-apiserver requires it for several audiences.
    ...(audiences.length > 1 ? { audienceMatchPolicy: "MatchAny" } : {}),
  };
}

/** The private claim in CEL. */
const serviceClaim = `claims["${group}"]`;

/** How far the clock of the controller may be behind that of its API server, in seconds. */
const clockMargin = 300;

/**
 * The rules for the claims, which also limit what a stolen signing key can sign. kube-apiserver
 * verifies `nbf`, which equals `iat`, but not `iat`. CEL iterates a claim only as `dyn`.
 */
function claimRules({ maximumTokenTtl, isAuthorized }: AuthenticationOptions): readonly object[] {
  return [
    {
      expression: '!claims.sub.startsWith("system:")',
      message: "sub begins with system:, which is reserved for Kubernetes",
    },
    {
      expression: 'dyn(claims.groups).all(group, !group.startsWith("system:"))',
      message: "a group begins with system:, which is reserved for Kubernetes",
    },
    {
      expression: `claims.exp - claims.nbf <= ${maximumTokenTtl + clockMargin}`,
      message:
        `the lifetime exceeds ${maximumTokenTtl} seconds; if --maximum-token-ttl of the ` +
        "controller is longer, set it for kubectl latchkey trust-config too",
    },
    {
      expression: "type(claims.aud) == string",
      message: "aud is a list; a direct token has a single audience",
    },
    ...(isAuthorized ? authorizerRules : [noScopeRule]),
  ];
}

const noScopeRule = {
  expression: `!has(${serviceClaim}.scope)`,
  message:
    "the token has a scope, and nothing in this cluster enforces it; create a token without a " +
    "scope, or use an access key with this scope at the gateway of the central cluster",
};

/** The authorizer decides by the extras, so no limit of a token may be missing there. */
const authorizerRules: readonly object[] = [
  {
    expression: 'type(claims.jti) == string && claims.jti != ""',
    message: "jti is not a text, so that the token could not be revoked",
  },
  {
    expression:
      `!has(${serviceClaim}.scope) || (type(${serviceClaim}.scope) == string && ` +
      `${serviceClaim}.scope != "")`,
    message: "the scope is not a text, so that it would not be enforced",
  },
  {
    expression: `dyn(${serviceClaim}).all(member, member in ["name", "keyID", "scope"])`,
    message:
      "the private claim has an unknown member, which may be a limit of the token; update " +
      "Latchkey in this cluster, and run kubectl latchkey trust-config again",
  },
];

/** kube-apiserver leaves an extra with an empty value out. */
const extraMappings: readonly object[] = [
  {
    key: tokenExtras.keyId,
    valueExpression: `has(${serviceClaim}.keyID) ? ${serviceClaim}.keyID : ""`,
  },
  {
    key: tokenExtras.scope,
    valueExpression: `has(${serviceClaim}.scope) ? ${serviceClaim}.scope : ""`,
  },
  { key: tokenExtras.tokenId, valueExpression: "claims.jti" },
  { key: tokenExtras.tokenName, valueExpression: `${serviceClaim}.name` },
];

/** The rules for the user after the prefixes. */
const userRules: readonly object[] = [
  {
    expression: '!user.username.startsWith("system:")',
    message: "the username with its prefix begins with system:, which is reserved for Kubernetes",
  },
  {
    expression: 'user.groups.all(group, !group.startsWith("system:"))',
    message: "a group with its prefix begins with system:, which is reserved for Kubernetes",
  },
];
