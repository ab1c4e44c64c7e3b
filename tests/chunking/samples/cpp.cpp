// Shapes and stores.
#include <vector>
#include "shape.hpp"

namespace geo::plane {

constexpr double PI = 3.14;
class Forward;

/// 図形。二文目。
template <typename T>
class Shape : public Base {
 public:
    explicit Shape(T size);
    virtual ~Shape() = default;
    /// Its area.
    virtual double area() const = 0;
    void scale(double by) { size_ *= by; }
    Shape& operator+=(const Shape& other);
    static constexpr int kLimit = 3;
    using Size = T;
    enum class Kind { Round, Flat };
    struct Corner { int x; };

 private:
    T size_;
};

template <typename T>
Shape<T>::Shape(T size) : size_(size) {}

template <typename T>
Shape<T>& Shape<T>::operator+=(const Shape& other) {
    return *this;
}

// Doubles.
std::vector<int> doubled(const std::vector<int>& in) {
    int local = 1;
    return in;
}

namespace {
int hidden() { return 1; }
}  // namespace

template <typename T>
concept Drawable = requires(T t) { t.draw(); };

template <typename T>
using Grid = std::vector<std::vector<T>>;

}  // namespace geo::plane

double geo::plane::Corner::length() const { return 0; }

extern "C" int plugin_entry(void);

int main() { return 0; }
