/**
 * The digests of Latchkey's policies in each version that ships one that is strict enough. Written
 * by npm run policy-digests; clusters may still have those of a former version after an upgrade.
 */
export const shippedPolicies = {
  "latchkey-access-change": {
    "0.1.0": "479669d6ac6747ecd43aea1f658aa3cece5e62dd94a2cb0c3d94b77376255105",
  },
  "latchkey-cluster-share": {
    "0.1.0": "a6ec67cfd1311685f0d06562dd0148339e0bbb79189e158b91d30cd8316d2251",
  },
  "latchkey-deletion-guard": {
    "0.1.0": "eeb50769ac53a2d553363c559154400212ff5dea993b531f253f84a5d891b54c",
  },
  "latchkey-derived-credentials": {
    "0.1.0": "d6af4a82aa0b71ab8823d719de44dd9572547ff0a59ebe990566a4d70af1b310",
  },
  "latchkey-mint-guard": {
    "0.1.0": "e13df3fc8adb7726752c94933a978be919c1558a88bc6aef33dd9b9a822251b4",
  },
  "latchkey-object-bounds": {
    "0.1.0": "e0fde1700856b44dfaf1780b79315d6355972f4960f4e5e3b9e4c871c60d550f",
  },
  "latchkey-outbox": {
    "0.1.0": "7cc3e25ef1debff4417872eee9f751e0885c8c2d5633c870b88edad25ccbb291",
  },
  "latchkey-own-rbac": {
    "0.1.0": "134ca9910b304673347d2bebc5964198b6c2786ec10127007914217c442545e9",
  },
  "latchkey-own-secrets": {
    "0.1.0": "4126182b60769ad42a04419ca48b9d6b97561df348b4ef174979bb107dd3fb40",
  },
  "latchkey-own-webhook-configurations": {
    "0.1.0": "2e147460dca77ce4f11f3f3fc01e38532407a6f2fb43afbaaf2641100da30350",
  },
  "latchkey-project-assignment": {
    "0.1.0": "9f77903312b6b6540da4a15e210cc9ce4bca4f9b14a3eb0cae69d9ae27df4bff",
  },
  "latchkey-project-share": {
    "0.1.0": "5ca6fdbb598ac6d5ccff3ba7871c36d17de8e60d5f4f48c5ce30289cbf959dbe",
  },
  "latchkey-requester-annotations": {
    "0.1.0": "167f24379956e433b2b5b21094da647290187262059018de68471e2fa4e9090e",
  },
  "latchkey-requester-lock": {
    "0.1.0": "b69da468e3e4ce7e9d8bcc10a829bec3c4256046a5166256d124d032c34e186c",
  },
  "latchkey-scope-bounds": {
    "0.1.0": "0ac6ce6a6a0a6e02fa5b228d7c7b6429d65ecf7b8ef800772db80c652e543ea8",
  },
  "latchkey-scope-wildcards": {
    "0.1.0": "455593c4c56bcddcba15062a89dc9cc98c341cfef197fe0495fa1d94a5043269",
  },
  "latchkey-status-lock": {
    "0.1.0": "862a490910751dc8c52603408252b955307bbcf31611a0a5c9f256aa370c56a1",
  },
  "latchkey-sync-from": {
    "0.1.0": "237765a2bcd7eb989ce253d9d76d9c921c1b37a31fbc08a0e23dd2d97d287522",
  },
  "latchkey-token-audience": {
    "0.1.0": "ae6dc5e7dd0a9ea68382a8512d60b7905eb37910b9b73eea85a78eac2fa16d1c",
  },
} as const;
