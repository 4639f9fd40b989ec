#pragma once
static const int8_t weights[8480] = {0};
#define WEIGHT_SCALE 0.03
#define WEIGHT_BIAS 0.0
#define SCORE_SUSPICIOUS 2.0
#define SCORE_MALICIOUS 6.0
