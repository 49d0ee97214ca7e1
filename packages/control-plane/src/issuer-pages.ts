// The pages from which others learn to verify the tokens of service accounts: OpenID discovery and the key set.
// Source: apiserver routes/openidmetadata.go (1.36).
import { type IssuerDocuments, keySetPath, type Page, type PageAnswer } from '@kapstan/apiserver';

const cacheControl = 'public, max-age=3600';

export function issuerPages(documents: IssuerDocuments): Page[] {
  const answer = (contentType: string, document: unknown): PageAnswer => ({
    contentType,
    cacheControl,
    body: Buffer.from(JSON.stringify(document)),
  });
  return [
    {
      path: '/.well-known/openid-configuration',
      method: 'GET',
      respond: ({ origin }) => answer('application/json', documents.configuration(origin)),
    },
    { path: keySetPath, method: 'GET', respond: () => answer('application/jwk-set+json', documents.keySet()) },
  ];
}
