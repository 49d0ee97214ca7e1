import '../../apiserver/src/internal.ts';
