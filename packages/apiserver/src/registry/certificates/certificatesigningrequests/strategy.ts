// Requests for certificates. Who asks is what the server knows, never what the request says: signers rely on it.
// Source: pkg/registry/certificates/certificates.
import { deepCopy } from '@kapstan/api';
import type { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

export const certificateSigningRequests: BuiltinKind<CertificateSigningRequest> = {
  id: 'certificates.k8s.io/v1/certificatesigningrequests',
  prepareForCreate: (object, { user }) => {
    const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...asked } = object.spec;
    object.spec = {
      ...asked,
      username: user.name,
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      groups: [...user.groups],
      ...(user.extra === undefined ? {} : { extra: deepCopy(user.extra) as Record<string, string[]> }),
    };
  },
  prepareForUpdate: (next, old) => {
    next.spec = deepCopy(old.spec) as CertificateSigningRequest['spec'];
  },
  fields: ({ spec }) => ({ 'spec.signerName': spec?.signerName ?? '' }),
};
