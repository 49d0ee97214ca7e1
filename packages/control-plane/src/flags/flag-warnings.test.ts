import { expect, it } from 'vitest';
import { flagWarnings } from './flag-warnings.ts';
import { parseServeFlags } from './serve-flags.ts';

it.each<[string[], string[]]>([
  [[], []],
  [['--watch-cache-sizes=pods#7,deployments.apps#0'], []],
  [
    ['--watch-cache-sizes=nosuchthing#5,pods#1,nosuch.example.com#7'],
    [
      '--watch-cache-sizes: "nosuchthing" is not a built-in resource; the size takes effect only if it is a custom resource',
      '--watch-cache-sizes: "nosuch.example.com" is not a built-in resource; the size takes effect only if it is a custom resource',
    ],
  ],
  [['--etcd-prefix='], ['--etcd-prefix is empty, so keys begin with the name of their resource']],
  [['--authorization-mode=RBAC'], []],
  [
    ['--authorization-mode=RBAC,AlwaysAllow'],
    [
      '--authorization-mode=AlwaysAllow: every authenticated user may do everything; requests without credentials are refused',
    ],
  ],
])('of %j it warns %j', (args, warnings) => {
  expect(flagWarnings(parseServeFlags(args))).toEqual(warnings);
});
