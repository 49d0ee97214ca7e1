// CertificateSubjectRestriction refuses requests for client certificates of system:masters, who may do everything.
// Source: plugin/pkg/admission/certificates/subjectrestriction.

import { messageOf } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout, refuse } from '@kapstan/apiserver/internal';
import type { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import { requestedOrganizations } from '../certificates/certificatesigningrequests/request-subject.ts';

const signer = 'kubernetes.io/kube-apiserver-client';
const group = 'certificates.k8s.io';
const requests = 'certificatesigningrequests';

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validatedResources: [`${requests}.${group}`],
  validate: (attributes) => {
    if (!isAbout(attributes, group, requests) || attributes.operation !== 'CREATE') return;
    const { spec } = (attributes.object ?? {}) as CertificateSigningRequest;
    if (spec?.signerName !== signer || !organizationsOf(attributes, spec.request).includes('system:masters')) return;
    throw refuse(attributes, `use of ${signer} signer with system:masters group is not allowed`);
  },
};

function organizationsOf(attributes: AdmissionAttributes, request: string): readonly string[] {
  try {
    return requestedOrganizations(request);
  } catch (error) {
    throw refuse(attributes, `failed to parse CSR: ${messageOf(error)}`);
  }
}
