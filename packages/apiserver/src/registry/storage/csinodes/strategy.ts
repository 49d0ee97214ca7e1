// CSI nodes. Source: pkg/apis/storage/validation ValidateCSINode.
import { dnsSubdomainErrors } from '@kapstan/api';
import type { CSINode } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

const maxNodeIdBytes = 192;

export const csiNodes: BuiltinKind<CSINode> = {
  id: 'storage.k8s.io/v1/csinodes',
  strategy: { updateMetadata: 'whole' },
  validate: (root, { spec }) => {
    const names = new Set<string>();
    root.child('spec', 'drivers').each(spec.drivers, (driver, place) => {
      if (driver.name === '') place.child('name').required();
      else place.child('name').invalidAll(driver.name, dnsSubdomainErrors(driver.name.toLowerCase()));
      if (driver.nodeID === '') place.child('nodeID').required();
      else if (Buffer.byteLength(driver.nodeID) > maxNodeIdBytes) {
        place.child('nodeID').invalid(driver.nodeID, `must be ${maxNodeIdBytes} characters or less`);
      }
      if (names.has(driver.name)) place.child('name').duplicate(driver.name);
      names.add(driver.name);
    });
  },
};
