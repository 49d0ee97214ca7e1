// AlwaysAdmit and AlwaysDeny: what they say; for tests of clusters. Source: plugin/pkg/admission/admit, deny.
import { type AdmissionPlugin, refuse } from './admission-plugin.ts';

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit' };

export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  admit: (attributes) => {
    throw refuse(attributes, 'admission control is denying all modifications');
  },
};
