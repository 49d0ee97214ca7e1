// The pages by which others verify service account tokens: OpenID discovery and the key set. Source: apiserver
// routes/openidmetadata.go (1.36).

import type { Page, PageAnswer } from '@kapstan/apiserver';
import { type IssuerDocuments, keySetPath } from '@kapstan/kubernetes';

const cacheControl = 'public, max-age=3600';

export function issuerPages(documents: IssuerDocuments): Page[] {
  const page = (path: string, produces: string, document: (origin: string) => unknown): Page => ({
    path,
    method: 'GET',
    produces,
    respond: ({ origin }): PageAnswer => ({
      contentType: produces,
      cacheControl,
      body: Buffer.from(JSON.stringify(document(origin))),
    }),
  });
  return [
    page('/.well-known/openid-configuration', 'application/json', (origin) => documents.configuration(origin)),
    page(keySetPath, 'application/jwk-set+json', () => documents.keySet()),
  ];
}
