import '../../apiserver/src/testing/index.ts';
