"""Reads lines of JSON {"issuer", "audience", "ca", "token"}. For each it writes a line of JSON: the
claims of the token, or why PyJWT refuses it."""

import json
import ssl
import sys
import urllib.error
import urllib.request

import jwt

# An error's text may quote the token. Subclasses come before their bases.
REASONS = (
    (jwt.InvalidIssuerError, "issuer"),
    (jwt.InvalidAudienceError, "audience"),
    (jwt.ExpiredSignatureError, "expired"),
    (jwt.InvalidAlgorithmError, "algorithm"),
    (jwt.InvalidSignatureError, "signature"),
    (jwt.PyJWKClientConnectionError, "discovery"),
    (jwt.PyJWKClientError, "signature"),
    (urllib.error.URLError, "discovery"),
)

# PyJWT fetches keys for an unknown kid only so many seconds after the last fetch; 30 by default.
COOLDOWN = 5


class Provider:
    """An issuer, and the keys that it has published so far."""

    def __init__(self, issuer, ca):
        context = ssl.create_default_context(cadata=ca)
        url = issuer + "/.well-known/openid-configuration"
        with urllib.request.urlopen(url, timeout=60, context=context) as response:
            document = json.load(response)
        self.issuer = document["issuer"]
        self.algorithms = document["id_token_signing_alg_values_supported"]
        self.keys = jwt.PyJWKClient(
            document["jwks_uri"], ssl_context=context, timeout=60, cooldown_duration=COOLDOWN
        )

    def claims(self, token, audience):
        return jwt.decode(
            token,
            self.keys.get_signing_key_from_jwt(token),
            algorithms=self.algorithms,
            audience=audience,
            issuer=self.issuer,
            options={"require": ["iss", "sub", "aud", "exp"]},
        )


providers = {}


def answer(question):
    key = (question["issuer"], question["ca"])
    try:
        if key not in providers:
            providers[key] = Provider(*key)
        claims = providers[key].claims(question["token"], question["audience"])
        return {"ok": True, "claims": claims}
    except Exception as error:
        found = (reason for kind, reason in REASONS if isinstance(error, kind))
        return {"ok": False, "reason": next(found, "other")}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
