// The issuer of the tokens of identity-cases.ts. The measured server trusts it; its key is made for each run.
import { generateKeyPairSync, sign } from 'node:crypto';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const issuer = 'https://growth.example.com';

/** The parts of this claim are looked at one by one, which reaches the budget of an expression. */
const costly = 'claims.costly.split(",")';

/** The message to the measured server: the configuration without the issuer's address, and the key. */
export const outsideIssuer: string = JSON.stringify({
  issuer,
  key: publicKey.export({ format: 'jwk' }),
  jwt: {
    claimMappings: {
      username: { claim: 'sub', prefix: 'growth:' },
      groups: { claim: 'groups', prefix: 'growth:' },
    },
    claimValidationRules: [
      { expression: `!has(claims.costly) || ${costly}.all(a, a != "" && size(a) < 100 && !a.contains("z"))` },
      ...Array.from({ length: 300 }, (_, index) => ({
        expression: `!has(claims.ruled) || claims.ruled != "${index}"`,
      })),
    ],
    userValidationRules: [{ expression: 'user.groups.all(g, g != "system:masters")' }],
  },
});

/** Returns a token with these claims. */
export function outsideToken(claims: object): string {
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const all = { iss: issuer, aud: 'growth', sub: 'jane', exp: 4_102_444_800, ...claims };
  const signed = `${encoded({ alg: 'ES256', kid: 'growth' })}.${encoded(all)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}
