float3 brdf(float3 wi, float3 wo) {
    return wi;
}
