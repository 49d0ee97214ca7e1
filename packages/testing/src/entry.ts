// The entry point of @kapstan/testing: index.ts from its bundle if the bundle is current, otherwise as compiled. It has
// the types of index.ts.
import { createRequire } from 'node:module';
import * as api from '@kapstan/api';
import * as apiErrors from '@kapstan/api/errors';
import * as apiInternal from '@kapstan/api/internal';
import * as apiTesting from '@kapstan/api/testing';
import { currentBundle, loadBundle } from '@kapstan/control-plane/internal';
import type * as Testing from './index.ts';

const bundle = currentBundle(new URL('../', import.meta.url));
const shared = {
  '@kapstan/api': api,
  '@kapstan/api/errors': apiErrors,
  '@kapstan/api/internal': apiInternal,
  '@kapstan/api/testing': apiTesting,
};
// The bundle is loaded with require, because a program that requires this package could not wait for an import.
const testing = ((bundle === undefined ? undefined : loadBundle(bundle, { shared })) ??
  createRequire(import.meta.url)('./index.js')) as typeof Testing;

export const ByteProxy: typeof Testing.ByteProxy = testing.ByteProxy;
export const TestCluster: typeof Testing.TestCluster = testing.TestCluster;
export const testCluster: typeof Testing.testCluster = testing.testCluster;
