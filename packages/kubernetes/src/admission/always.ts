// AlwaysAdmit and AlwaysDeny admit or refuse everything; for tests of clusters. Source: plugin/pkg/admission/admit,
// deny.
import type { AdmissionPlugin } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit' };

export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  admit: (attributes) => {
    throw refuse(attributes, 'admission control is denying all modifications');
  },
};
