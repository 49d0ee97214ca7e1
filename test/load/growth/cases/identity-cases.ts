// Cases of tokens of an issuer, sent in token reviews: long ones, and ones with expensive claims.
import { type GrowthCase, members, mostMembers, times } from '../growth-case.ts';
import { outsideToken } from '../outside-issuer.ts';

const path = '/apis/authentication.k8s.io/v1/tokenreviews';

function reviews(name: string, full: number, claims: (n: number) => object): GrowthCase {
  const body = (n: number) => ({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: outsideToken(claims(n)) },
  });
  return { name, full, request: (n) => ({ method: 'POST', path, body: body(n) }), codes: [201] };
}

export const identityCases: readonly GrowthCase[] = [
  reviews('token with a long claim', 2_000_000, (n) => ({ text: 'x'.repeat(n) })),
  reviews('token with many claims', mostMembers, (n) => members(n, (i) => i)),
  reviews('token with deep claims', 400_000, (n) => ({
    deep: JSON.parse('['.repeat(Math.min(n, 1_000)) + ']'.repeat(Math.min(n, 1_000))),
    fill: 'x'.repeat(n),
  })),
  reviews('token with many groups', 200_000, (n) => ({ groups: times(n, (i) => `g${i}`) })),
  reviews('token whose claim costs', 200_000, (n) => ({ costly: times(n, (i) => `c${i}`).join(',') })),
  reviews('token of many rules', 1_000_000, (n) => ({ ruled: 'x'.repeat(n) })),
];
