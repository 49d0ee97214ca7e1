// The etcd binaries for the tests of this folder: the machine's own (Debian's 3.4), and the 3.6 line, built from its
// module.
import { findEtcd, howToInstall } from '@kapstan/storage-etcd/testing';
import { buildGoProgram } from '../../e2e/peers/go-programs.ts';

export interface EtcdBinary {
  readonly title: string;
  readonly path?: string;
  /** The reason why there is no path. */
  readonly missing?: string;
}

export async function etcdBinaries(): Promise<readonly EtcdBinary[]> {
  return [etcdOfTheMachine(), await etcd36()];
}

function etcdOfTheMachine(): EtcdBinary {
  const title = 'the etcd of the machine';
  const path = findEtcd();
  return path === undefined ? { title, missing: `no etcd: ${howToInstall}` } : { title, path };
}

export async function etcd36(): Promise<EtcdBinary> {
  const title = 'etcd 3.6';
  const built = await buildGoProgram(new URL('etcd-server/', import.meta.url), 'etcd-3.6');
  return typeof built === 'string' ? { title, missing: built } : { title, path: built.path };
}
